// A tree of drafts in one pass: every node's logits have the bits of plain decoding along its path, and what is
// committed of it leaves the state that plain decoding leaves, wherever pages end.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "cache/cache_manager.h"
#include "model/model_harness.h"

namespace colugo::testing {
namespace {

using kernels::kPage;
using kernels::KvType;
using kernels::Tier;
using Tokens = std::vector<int32_t>;

constexpr int64_t kLongest = 150;

struct Tree {
    Tokens tokens;
    std::vector<int32_t> parents;
    std::vector<int32_t> depths;
};

struct Running {
    std::unique_ptr<Lease> lease;
    Tokens tokens;  // fed, and one that is not yet
    Tree tree;
};

class DraftTrees : public ::testing::TestWithParam<Launch> {
 protected:
    DraftTrees()
        : fixture_(load_fixture("tiny-bf16", GetParam().compute)),
          harness_(fixture_, GetParam()),
          cold_(fixture_, GetParam()),
          vocab_(static_cast<size_t>(harness_.config().vocab_size)) {
        const StateFormat format = state_format(harness_.model());
        cache_ = std::make_unique<CacheManager>(format, format.fixed_bytes() + 4 * format.sequence_bytes(kLongest),
                                                kLongest);
    }

    size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }
    int32_t any_token() { return static_cast<int32_t>(below(vocab_)); }

    // Nodes by depth; past the page of the last token, all descend from one node in its last column.
    Tree tree_for(const Running& one) {
        Tree tree;
        const auto count = static_cast<int>(below(17));
        int crossing = -1;
        while (static_cast<int>(tree.tokens.size()) < count) {
            const auto parent = static_cast<int32_t>(below(tree.tokens.size() + 1)) - 1;
            const int32_t depth = parent < 0 ? 1 : tree.depths[static_cast<size_t>(parent)] + 1;
            const int64_t position = one.lease->length() + depth;  // of the node; the last token comes at length
            if (position + 1 >= kLongest) break;
            if (parent >= 0 && position % kPage == 0) {
                if (crossing >= 0 && crossing != parent) continue;
                crossing = parent;
            }
            tree.tokens.push_back(any_token());
            tree.parents.push_back(parent);
            tree.depths.push_back(depth);
        }
        return by_depth(tree);
    }
    static Tree by_depth(const Tree& tree) {
        std::vector<size_t> order(tree.tokens.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return tree.depths[a] < tree.depths[b]; });
        std::vector<int32_t> place(order.size());
        for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int32_t>(i);
        Tree sorted;
        for (const size_t i : order) {
            sorted.tokens.push_back(tree.tokens[i]);
            sorted.parents.push_back(tree.parents[i] < 0 ? -1 : place[static_cast<size_t>(tree.parents[i])]);
            sorted.depths.push_back(tree.depths[i]);
        }
        return sorted;
    }
    static std::vector<int32_t> path_to(const Tree& tree, int32_t node) {
        std::vector<int32_t> path;
        for (; node >= 0; node = tree.parents[static_cast<size_t>(node)]) path.insert(path.begin(), node);
        return path;
    }
    static Tokens along(const Running& one, const std::vector<int32_t>& path) {
        Tokens tokens = one.tokens;
        for (const int32_t node : path) tokens.push_back(one.tree.tokens[static_cast<size_t>(node)]);
        return tokens;
    }

    // The last row of a cold run.
    std::vector<float> cold(const Tokens& tokens) {
        const std::vector<float> all = cold_.logits(tokens, {static_cast<int>(tokens.size())});
        return {all.end() - static_cast<std::ptrdiff_t>(vocab_), all.end()};
    }
    bool same(const std::vector<float>& logits, size_t row, const Tokens& tokens) {
        ++compared_;
        return std::memcmp(&logits[row * vocab_], cold(tokens).data(), vocab_ * sizeof(float)) == 0;
    }

    void start(int prompt) {
        Running one;
        for (int i = 0; i < prompt; ++i) one.tokens.push_back(any_token());
        one.lease = cache_->admit({one.tokens}, kLongest);
        ASSERT_TRUE(one.lease);
        cache_->prepare(*one.lease, prompt - 1, {});
        const SequenceRows rows[] = {
            {&one.lease->state(), std::span(one.tokens).first(one.tokens.size() - 1), one.lease->pass_pages(), {}}};
        harness_.pass(rows);
        cache_->commit(*one.lease, std::span(one.tokens).first(one.tokens.size() - 1));
        running_.push_back(std::move(one));
    }

    // One pass over all sequences; a node's logits are looked at, all nodes' where a page ends among them, and a random
    // path of each tree is committed.
    void step() {
        std::vector<SequenceRows> batch;
        for (Running& one : running_) {
            one.tree = tree_for(one);
            const int64_t depth = one.tree.depths.empty() ? 0 : one.tree.depths.back();
            cache_->prepare(*one.lease, 1, {}, depth);
            batch.push_back({.sequence = &one.lease->state(),
                             .tokens = std::span(one.tokens).last(1),
                             .pages = one.lease->pass_pages(),
                             .tails = {},
                             .drafts = one.tree.tokens,
                             .draft_parents = one.tree.parents});
        }
        const std::vector<float> logits = harness_.pass(batch);
        size_t row = 0;
        for (size_t i = 0; i < running_.size(); ++i) {
            Running& one = running_[i];
            ASSERT_TRUE(same(logits, row, one.tokens));
            const auto nodes = static_cast<int32_t>(one.tree.tokens.size());
            std::vector<int32_t> path;
            if (nodes > 0) {
                const bool crosses =
                    (one.lease->length() + one.tree.depths.back()) / kPage > one.lease->length() / kPage;
                crossed_ += crosses;
                const auto chosen = static_cast<int32_t>(below(static_cast<size_t>(nodes)));
                path = path_to(one.tree, chosen);
                for (int32_t node = 0; node < nodes; ++node) {
                    if (node != chosen && !crosses) continue;
                    ASSERT_TRUE(same(logits, row + 1 + static_cast<size_t>(node), along(one, path_to(one.tree, node))))
                        << "node " << node << " at " << one.lease->length();
                }
            }
            row += 1 + static_cast<size_t>(nodes);
            path.resize(below(path.size() + 1));
            accepted_ += static_cast<int>(path.size());
            harness_.model().commit_drafts(i, path);
            one.tokens = along(one, path);
            cache_->commit(*one.lease, one.tokens);
            ASSERT_EQ(cache_->fault(), "");
            one.tokens.push_back(any_token());
        }
    }

    // All a next pass reads is what plain decoding leaves.
    void expect_plain_state(Running& one) {
        const std::span<const int32_t> fed = std::span(one.tokens).first(static_cast<size_t>(one.lease->length()));
        const auto plain = cold_.feed(fed, {7}, 4);
        const SequenceState& state = one.lease->state();
        const RecurrentLayout& layout = harness_.model().recurrent_layout();
        EXPECT_EQ(std::memcmp(state.border, plain->border, layout.border_bytes()), 0);
        EXPECT_EQ(std::memcmp(state.tail, plain->tail, layout.tail_bytes()), 0);
        for (size_t page = 0; page * kPage < fed.size(); ++page) {
            EXPECT_EQ(std::memcmp(state.pages[page], plain->pages[page], static_cast<size_t>(cold_.page_bytes())), 0)
                << "page " << page << " at " << fed.size();
        }
    }

    const LoadedFixture& fixture_;
    ModelHarness harness_, cold_;
    size_t vocab_;
    std::unique_ptr<CacheManager> cache_;
    std::vector<Running> running_;
    std::mt19937_64 random_{9};
    int compared_ = 0, accepted_ = 0, crossed_ = 0;
};

TEST_P(DraftTrees, GiveTheBitsOfPlainDecoding) {
    const int rounds = GetParam().tier == kernels::select_tier() ? 3 : 1;
    for (int round = 0; round < rounds; ++round) {
        start(20 + 3 * round);
        // Alone, a sequence has its value heads shared out among four threads.
        if (round < 2) start(45 + round);
        if (round < 2) start(9);
        for (int step_number = 0; step_number < 20; ++step_number) {
            step();
            if (HasFatalFailure()) return;
            if (std::any_of(running_.begin(), running_.end(),
                            [](const Running& one) { return one.lease->length() + 20 > kLongest; })) {
                break;
            }
        }
        for (Running& one : running_) {
            expect_plain_state(one);
            cache_->drop(std::move(one.lease));
        }
        running_.clear();
    }
    EXPECT_GT(compared_, 40 * rounds);
    EXPECT_GT(accepted_, 20 * rounds);
    EXPECT_GT(crossed_, 3 * rounds);
}

std::vector<Launch> launches() {
    std::vector<Launch> all;
    for (Tier tier : available_tiers()) {
        for (ComputeMode compute : {ComputeMode::bf16, ComputeMode::f32}) {
            for (KvType kv_type : {KvType::f32, KvType::bf16, KvType::fp8, KvType::int8}) {
                if (tier == Tier::scalar && kv_type != KvType::fp8 && kv_type != KvType::int8) continue;
                all.push_back({.tier = tier,
                               .compute = compute,
                               .kv_type = kv_type,
                               .threads = static_cast<int>(all.size() % 4) + 1,
                               .max_draft_rows = 64});
            }
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Launches, DraftTrees, ::testing::ValuesIn(launches()),
                         [](const ::testing::TestParamInfo<Launch>& launch) {
                             std::string name = launch_name(launch.param);
                             std::replace(name.begin(), name.end(), ' ', '_');
                             return name;
                         });

}  // namespace
}  // namespace colugo::testing
