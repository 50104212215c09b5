// What is accepted of a tree, pattern by pattern: the token before the drafts in each of a page's columns, and of every
// shape of tree each part of its right way from nothing to all of it. What stands behind is what plain decoding leaves.
// A backend with one deliberate fault must break that.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <random>

#include "cache/cache_manager.h"
#include "model/faulty_backend.h"
#include "model/model_harness.h"

namespace colugo::testing {
namespace {

using kernels::kPage;
using Tokens = std::vector<int32_t>;

constexpr int kMostDrafts = 15;
constexpr int64_t kText = 3 * kPage;  // the root is in the second page, so that trees end in the third at most

// A tree as it is meant, by depth. At most one child of a node is right, and only where the node is.
struct Shape {
    struct Node {
        int32_t parent;
        bool right;
    };
    const char* name;
    std::vector<Node> nodes;

    void add(int32_t parent, bool right) { nodes.push_back({parent, right}); }
    int32_t last() const { return static_cast<int32_t>(nodes.size()) - 1; }
};

// The first `right` drafts of a chain are.
Shape chain(const char* name, int right) {
    Shape shape{name, {}};
    for (int i = 0; i < kMostDrafts; ++i) shape.add(i - 1, i < right);
    return shape;
}

Shape siblings(const char* name, int right) {
    Shape shape{name, {}};
    for (int i = 0; i < kMostDrafts; ++i) shape.add(-1, i == right);
    return shape;
}

// Two drafts at each depth, both children of the right one before.
Shape comb(const char* name, bool right_first) {
    Shape shape{name, {}};
    for (int32_t parent = -1; shape.nodes.size() + 2 <= kMostDrafts;) {
        shape.add(parent, right_first);
        shape.add(parent, !right_first);
        parent = shape.last() - (right_first ? 1 : 0);
    }
    return shape;
}

// Two chains from the root, drafts of the right one behind those of the other.
Shape two_chains(const char* name, bool right_first) {
    Shape shape{name, {}};
    for (int i = 0; i + 2 <= kMostDrafts; i += 2) {
        shape.add(i == 0 ? -1 : i - 2, right_first);
        shape.add(i == 0 ? -1 : i - 1, !right_first);
    }
    return shape;
}

// Two children of every node. turns: bit d set: the second child is right at depth d + 1.
Shape binary(const char* name, unsigned turns) {
    Shape shape{name, {}};
    for (int32_t parent = -1; shape.nodes.size() + 2 <= kMostDrafts; ++parent) {
        const bool goes_on = parent < 0 || shape.nodes[static_cast<size_t>(parent)].right;
        const int depth = std::bit_width(static_cast<unsigned>(parent + 2)) - 1;  // of the parent: level by level
        const bool second = (turns >> depth & 1u) != 0;
        shape.add(parent, goes_on && !second);
        shape.add(parent, goes_on && second);
    }
    return shape;
}

Shape random_shape(std::mt19937_64& random) {
    Shape shape{"random", {}};
    const auto count = 1 + static_cast<int>(random() % kMostDrafts);
    std::vector<int> parents, depths;
    for (int i = 0; i < count; ++i) {
        parents.push_back(static_cast<int>(random() % (parents.size() + 1)) - 1);
        depths.push_back(parents.back() < 0 ? 1 : depths[static_cast<size_t>(parents.back())] + 1);
    }
    std::vector<int32_t> place(parents.size());
    int32_t way = -1;  // the right one so far
    for (int depth = 1; depth <= count; ++depth) {
        std::vector<size_t> here;
        for (size_t i = 0; i < parents.size(); ++i) {
            if (depths[i] == depth) here.push_back(i);
        }
        std::shuffle(here.begin(), here.end(), random);
        int32_t next = -2;
        for (const size_t i : here) {
            const int32_t parent = parents[i] < 0 ? -1 : place[static_cast<size_t>(parents[i])];
            const bool right = next == -2 && parent == way && random() % 4 > 0;
            shape.add(parent, right);
            place[i] = shape.last();
            if (right) next = shape.last();
        }
        way = next;
    }
    return shape;
}

std::vector<Shape> shapes() {
    std::vector<Shape> all = {chain("all right", kMostDrafts),
                              chain("all wrong", 0),
                              chain("one right", 1),
                              chain("eight right", 8),
                              siblings("first of many", 0),
                              siblings("one of many", 7),
                              siblings("last of many", kMostDrafts - 1),
                              siblings("none of many", -1),
                              comb("first of two", true),
                              comb("second of two", false),
                              two_chains("first chain", true),
                              two_chains("second chain", false),
                              binary("binary, first", 0),
                              binary("binary, second", 7),
                              binary("binary, to and fro", 2)};
    std::mt19937_64 random(5);
    for (int i = 0; i < 9; ++i) all.push_back(random_shape(random));
    return all;
}

class Patterns {
 public:
    explicit Patterns(ModelHarness::BackendFactory factory = ModelHarness::plain_backend)
        : harness_(load_fixture("tiny-bf16", launch().compute), launch(), factory),
          plain_(load_fixture("tiny-bf16", launch().compute), launch()),
          vocab_(static_cast<size_t>(harness_.config().vocab_size)),
          text_(test_tokens(kText, harness_.config().vocab_size)),
          expected_(plain_.logits(text_, {kText})) {
        const StateFormat format = state_format(harness_.model());
        cache_ =
            std::make_unique<CacheManager>(format, format.fixed_bytes() + 40 * format.sequence_bytes(kText), kText);
        // A snapshot before each column of the second page.
        for (int64_t root = kPage; root < 2 * kPage; ++root) {
            auto lease = cache_->admit({std::span(text_).first(static_cast<size_t>(root) + 1)}, kText);
            const auto tokens = std::span(text_).subspan(static_cast<size_t>(lease->length()),
                                                         static_cast<size_t>(root - lease->length()));
            cache_->prepare(*lease, static_cast<int64_t>(tokens.size()), {});
            const SequenceRows rows[] = {{&lease->state(), tokens, lease->pass_pages(), {}}};
            harness_.pass(rows);
            cache_->commit(*lease, std::span(text_).first(static_cast<size_t>(root)));
            cache_->finish(std::move(lease), std::span(text_).first(static_cast<size_t>(root)));
        }
    }

    // The shape behind the text's token `root`, `accepted` drafts of its right way committed. Nothing when it has fewer
    // there; whether all is as in plain decoding.
    std::optional<bool> holds(const Shape& shape, int64_t root, int accepted) {
        plant(shape, root);
        if (accepted > static_cast<int>(right_.size())) return std::nullopt;
        auto lease = cache_->admit({std::span(text_).first(static_cast<size_t>(root) + 1)}, kText);
        EXPECT_EQ(lease->cached_len(), root);
        cache_->prepare(*lease, 1, {}, depths_.empty() ? 0 : depths_.back());
        const SequenceRows rows[] = {{.sequence = &lease->state(),
                                      .tokens = std::span(text_).subspan(static_cast<size_t>(root), 1),
                                      .pages = lease->pass_pages(),
                                      .tails = {},
                                      .drafts = tokens_,
                                      .draft_parents = parents_}};
        const std::vector<float> logits = harness_.pass(rows);
        bool same = same_row(logits, 0, root);
        for (size_t depth = 0; depth < right_.size(); ++depth) {
            same &= same_row(logits, 1 + static_cast<size_t>(right_[depth]), root + 1 + static_cast<int64_t>(depth));
        }
        harness_.model().commit_drafts(0, std::span(right_).first(static_cast<size_t>(accepted)));
        const int64_t length = root + 1 + accepted;
        cache_->commit(*lease, std::span(text_).first(static_cast<size_t>(length)));
        EXPECT_EQ(cache_->fault(), "");
        same &= lease->length() == length && plain_state(lease->state()) && plain_row(*lease);
        cache_->drop(std::move(lease));
        return same;
    }

    // Of the tree that was planted last: the right way goes into another page, another one does.
    bool crosses_right() const { return crosses_right_; }
    bool crosses_wrong() const { return crosses_wrong_; }

 private:
    static Launch launch() { return {.tier = kernels::select_tier(), .max_rows = 256, .max_draft_rows = kMostDrafts}; }

    // Leaves out what must not cross a border: of what leaves a page, the descendants of the first draft stay.
    void plant(const Shape& shape, int64_t root) {
        tokens_.clear();
        parents_.clear();
        depths_.clear();
        right_.clear();
        crosses_right_ = crosses_wrong_ = false;
        std::vector<int32_t> place;
        int32_t crossing = -2;
        for (const Shape::Node& node : shape.nodes) {
            place.push_back(-2);
            const int32_t parent = node.parent < 0 ? -1 : place[static_cast<size_t>(node.parent)];
            if (parent == -2) continue;
            const int32_t depth = parent < 0 ? 1 : depths_[static_cast<size_t>(parent)] + 1;
            const int64_t position = root + depth;
            if (position % kPage == 0) {
                if (crossing != -2 && crossing != parent) continue;
                crossing = parent;
                (node.right ? crosses_right_ : crosses_wrong_) = true;
            }
            place.back() = static_cast<int32_t>(tokens_.size());
            const int32_t right = text_[static_cast<size_t>(position)];
            const auto wrong = static_cast<int32_t>(tokens_.size()) + 1;
            tokens_.push_back(node.right ? right : static_cast<int32_t>((right + wrong) % static_cast<int>(vocab_)));
            parents_.push_back(parent);
            depths_.push_back(depth);
            if (node.right) right_.push_back(place.back());
        }
    }

    bool same_row(const std::vector<float>& logits, size_t row, int64_t position) const {
        return std::memcmp(&logits[row * vocab_], &expected_[static_cast<size_t>(position) * vocab_],
                           vocab_ * sizeof(float)) == 0;
    }
    // What a next pass reads, but for the recurrent rows since the border, which it shows.
    bool plain_state(const SequenceState& state) {
        std::unique_ptr<TestSequence>& plain = states_[state.length];
        const auto length = static_cast<size_t>(state.length);
        if (!plain) plain = plain_.feed(std::span(text_).first(length), {static_cast<int>(length)}, 0);
        const RecurrentLayout& layout = harness_.model().recurrent_layout();
        bool same = std::memcmp(state.border, plain->border, layout.border_bytes()) == 0 &&
                    std::memcmp(state.tail, plain->tail, layout.tail_bytes()) == 0;
        for (size_t page = 0; page * kPage < length; ++page) {
            same &= std::memcmp(state.pages[page], plain->pages[page], static_cast<size_t>(plain_.page_bytes())) == 0;
        }
        return same;
    }
    bool plain_row(Lease& lease) {
        const int64_t position = lease.length();
        cache_->prepare(lease, 1, {});
        const SequenceRows rows[] = {{&lease.state(), std::span(text_).subspan(static_cast<size_t>(position), 1),
                                      lease.pass_pages(), lease.tails()}};
        const bool same = same_row(harness_.pass(rows), 0, position);
        cache_->commit(lease, std::span(text_).first(static_cast<size_t>(position) + 1));
        return same;
    }

    ModelHarness harness_, plain_;
    size_t vocab_;
    Tokens text_;
    std::vector<float> expected_;  // [kText, vocab]: what the model says to the text
    std::unique_ptr<CacheManager> cache_;
    std::map<int64_t, std::unique_ptr<TestSequence>> states_;
    // The planted tree.
    Tokens tokens_;
    std::vector<int32_t> parents_, depths_;
    std::vector<int32_t> right_;  // the right way
    bool crosses_right_ = false, crosses_wrong_ = false;
};

TEST(DraftPatterns, LeaveWhatPlainDecodingLeaves) {
    Patterns patterns;
    int accepted_all = 0, accepted_none = 0, crossed_right = 0, crossed_wrong = 0;
    for (const Shape& shape : shapes()) {
        for (int64_t root = kPage; root < 2 * kPage; ++root) {
            for (int accepted = 0;; ++accepted) {
                const std::optional<bool> holds = patterns.holds(shape, root, accepted);
                if (!holds) {
                    ++accepted_all;
                    break;
                }
                ASSERT_TRUE(*holds) << shape.name << ", root in column " << root % kPage << ", accepted " << accepted;
                accepted_none += accepted == 0;
                crossed_right += patterns.crosses_right();
                crossed_wrong += patterns.crosses_wrong();
            }
        }
    }
    EXPECT_EQ(accepted_none, 24 * 32);
    EXPECT_EQ(accepted_all, 24 * 32);
    EXPECT_GT(crossed_right, 500);
    EXPECT_GT(crossed_wrong, 200);
}

class DraftFault : public ::testing::TestWithParam<FaultKind> {};

TEST_P(DraftFault, IsSeen) {
    Patterns patterns(faulty_backend_factory(GetParam()));
    int seen = 0;
    for (const Shape& shape : {comb("first of two", true), comb("second of two", false)}) {
        for (int accepted = 0; accepted < 6; ++accepted) {
            seen += !patterns.holds(shape, kPage + 7, accepted).value();
        }
    }
    EXPECT_GT(seen, 0);
}

INSTANTIATE_TEST_SUITE_P(Faults, DraftFault,
                         ::testing::Values(FaultKind::sibling_convolved, FaultKind::sibling_attended,
                                           FaultKind::rejected_key_kept, FaultKind::rejected_row_kept),
                         [](const ::testing::TestParamInfo<FaultKind>& fault) { return fault_name(fault.param); });

}  // namespace
}  // namespace colugo::testing
