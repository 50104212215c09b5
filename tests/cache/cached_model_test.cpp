// The cache over a real model: sequences that start, read in pieces, draft, share, are evicted and end at random, and
// every logit has the bits of a cold run. A backend or a copy with one deliberate fault must break that.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "cache/cache_manager.h"
#include "model/faulty_backend.h"
#include "model/model_harness.h"

namespace colugo::testing {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int64_t kLongest = 130;
constexpr size_t kDeepest = 7;  // draft

struct Running {
    std::unique_ptr<Lease> lease;
    Tokens tokens;
    // Behind what a pass feeds.
    Tokens drafts;
    std::vector<int32_t> draft_parents;
    std::vector<int32_t> right;  // drafts that are the next tokens
};

class RandomRun {
 public:
    RandomRun(ModelHarness& harness, StateFormat format, uint64_t seed, double sequences)
        : cache(format,
                format.fixed_bytes() +
                    static_cast<uint64_t>(sequences * static_cast<double>(format.sequence_bytes(kLongest))),
                kLongest),
          harness_(harness),
          vocab_(static_cast<size_t>(harness.config().vocab_size)),
          random_(seed) {
        for (uint64_t trunk = 0; trunk < 4; ++trunk) {
            trunks_.push_back(test_tokens(kLongest, harness.config().vocab_size, 10 + trunk));
        }
    }
    ~RandomRun() {
        for (Running& one : running_) cache.drop(std::move(one.lease));
    }

    // One random operation. Returns whether every logit it gave was a cold run's.
    bool step() {
        const size_t choice = below(10);
        if (running_.empty() || (choice < 3 && running_.size() < 5)) {
            start();
        } else if (choice < 8) {
            return feed();
        } else {
            end(choice == 8);
        }
        return true;
    }

    CacheManager cache;
    int64_t compared = 0;  // rows that a snapshot spared the rows before
    int64_t accepted = 0;  // drafts
    int64_t rejected = 0;

 private:
    size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

    // A trunk's begin and then, most times, another's end: ways part at any position.
    void start() {
        const Tokens& trunk = trunks_[below(trunks_.size())];
        const Tokens& other = trunks_[below(trunks_.size())];
        const size_t length = 2 + below(static_cast<size_t>(kLongest) - 2), part = 8 * below(length / 8 + 1);
        Running one;
        one.tokens.assign(trunk.begin(), trunk.begin() + static_cast<std::ptrdiff_t>(part));
        one.tokens.insert(one.tokens.end(), other.begin() + static_cast<std::ptrdiff_t>(part),
                          other.begin() + static_cast<std::ptrdiff_t>(length));
        one.lease = cache.admit({one.tokens}, static_cast<int64_t>(length));
        if (one.lease) running_.push_back(std::move(one));
    }

    // The next tokens behind `begin` and wrong ones beside them: two at each depth, in any order, of which the right
    // one has children.
    void draft(Running& one, size_t begin) {
        one.drafts.clear();
        one.draft_parents.clear();
        one.right.clear();
        if (below(4) == 0) return;
        const size_t depth = below(std::min(one.tokens.size() - begin, kDeepest) + 1);
        for (int32_t parent = -1; one.right.size() < depth; parent = one.right.back()) {
            const int32_t token = one.tokens[begin + one.right.size()];
            const bool right_first = below(2) == 0;
            for (const bool first : {true, false}) {
                if (first == right_first) one.right.push_back(static_cast<int32_t>(one.drafts.size()));
                one.drafts.push_back(first == right_first ? token : (token + 1) % static_cast<int32_t>(vocab_));
                one.draft_parents.push_back(parent);
            }
        }
    }

    // One pass over some of the running sequences, some rows of each, with snapshots here and there and drafts behind;
    // a part of the right ones is committed.
    bool feed() {
        std::vector<size_t> members;
        std::vector<SequenceRows> batch;
        for (size_t i = 0; i < running_.size(); ++i) {
            Running& one = running_[i];
            const auto pending = one.tokens.size() - static_cast<size_t>(one.lease->length());
            if (pending == 0 || below(3) == 0) continue;
            const auto count = 1 + below(below(2) == 0 ? pending : std::min<size_t>(pending, 9));
            std::vector<int64_t> snapshots;
            for (int64_t position = one.lease->length() + 1;
                 position <= one.lease->length() + static_cast<int64_t>(count); ++position) {
                if (below(12) == 0) snapshots.push_back(position);
            }
            const auto begin = static_cast<size_t>(one.lease->length());
            draft(one, begin + count);
            cache.prepare(*one.lease, static_cast<int64_t>(count), snapshots, static_cast<int64_t>(one.right.size()));
            batch.push_back({.sequence = &one.lease->state(),
                             .tokens = std::span(one.tokens).subspan(begin, count),
                             .pages = one.lease->pass_pages(),
                             .tails = one.lease->tails(),
                             .drafts = one.drafts,
                             .draft_parents = one.draft_parents});
            members.push_back(i);
            cold(one.tokens);  // no other pass may come before the drafts are committed
        }
        if (batch.empty()) return true;
        const std::vector<float> logits = harness_.pass(batch);
        bool same = true;
        size_t row = 0;
        for (size_t i = 0; i < batch.size(); ++i) {
            Running& one = running_[members[i]];
            const size_t count = batch[i].tokens.size();
            const auto end = static_cast<size_t>(one.lease->length());
            const std::vector<float>& expected = cold(one.tokens);
            const auto same_rows = [&](size_t first, size_t position, size_t rows) {
                return std::memcmp(&logits[first * vocab_], &expected[position * vocab_],
                                   rows * vocab_ * sizeof(float)) == 0;
            };
            same = same && same_rows(row, end - count, count);
            row += count;
            for (size_t depth = 0; depth < one.right.size(); ++depth) {
                same = same && same_rows(row + static_cast<size_t>(one.right[depth]), end + depth, 1);
            }
            row += one.drafts.size();
            if (one.lease->cached_len() > 0) compared += static_cast<int64_t>(count);
            one.right.resize(below(one.right.size() + 1));
            harness_.model().commit_drafts(i, one.right);
            accepted += static_cast<int64_t>(one.right.size());
            rejected += static_cast<int64_t>(one.drafts.size() - one.right.size());
            cache.commit(*one.lease, std::span(one.tokens).first(end + one.right.size()));
        }
        return same;
    }

    void end(bool keep) {
        const size_t index = below(running_.size());
        Running one = std::move(running_[index]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
        const auto fed = static_cast<size_t>(one.lease->length());
        if (keep) {
            cache.finish(std::move(one.lease), std::span(one.tokens).first(fed));
        } else {
            cache.drop(std::move(one.lease));
        }
    }

    const std::vector<float>& cold(const Tokens& tokens) {
        std::vector<float>& known = cold_[tokens];
        if (known.empty()) known = harness_.logits(tokens, {static_cast<int>(tokens.size())});
        return known;
    }

    ModelHarness& harness_;
    size_t vocab_;
    std::mt19937_64 random_;
    std::vector<Tokens> trunks_;
    std::vector<Running> running_;
    std::map<Tokens, std::vector<float>> cold_;
};

Launch launch_of(kernels::KvType kv_type, int threads) {
    return {.tier = kernels::select_tier(), .kv_type = kv_type, .threads = threads, .max_rows = 1024};
}

TEST(CachedModel, GivesTheBitsOfColdRunsOverRandomOperations) {
    constexpr int kSteps = 800;
    struct Case {
        kernels::KvType kv_type;
        double sequences;
        int threads;
    };
    for (const Case& one : {Case{kernels::KvType::bf16, 2.0, 1}, Case{kernels::KvType::fp8, 5.5, 2},
                            Case{kernels::KvType::f32, 20.0, 3}, Case{kernels::KvType::int8, 4.0, 2}}) {
        const Launch launch = launch_of(one.kv_type, one.threads);
        ModelHarness harness(load_fixture("tiny-bf16", launch.compute), launch);
        RandomRun run(harness, state_format(harness.model()), 3, one.sequences);
        for (int step = 0; step < kSteps; ++step) {
            ASSERT_TRUE(run.step()) << launch_name(launch) << " step " << step;
            ASSERT_EQ(run.cache.fault(), "") << step;
        }
        EXPECT_GT(run.compared, 1000);
        EXPECT_GT(run.accepted, 200);
        EXPECT_GT(run.rejected, 500);
        EXPECT_GT(run.cache.counters().hits, 50);
        if (one.sequences < 10) {
            EXPECT_GT(run.cache.counters().evictions, 20);
        }
    }
}

class CacheFault : public ::testing::TestWithParam<FaultKind> {};

TEST_P(CacheFault, IsSeen) {
    const Launch launch = launch_of(kernels::KvType::bf16, 1);
    const LoadedFixture& fixture = load_fixture("tiny-bf16", launch.compute);
    ModelHarness harness(fixture, launch, faulty_backend_factory(GetParam()));
    RandomRun run(harness, state_format(harness.model()), 3, 6.0);
    bool seen = false;
    for (int step = 0; step < 400 && !seen; ++step) seen = !run.step();
    EXPECT_TRUE(seen);
}

INSTANTIATE_TEST_SUITE_P(Faults, CacheFault,
                         ::testing::Values(FaultKind::snapshot_window_skipped, FaultKind::pending_row_dropped,
                                           FaultKind::page_not_copied, FaultKind::sibling_convolved,
                                           FaultKind::sibling_attended, FaultKind::rejected_key_kept,
                                           FaultKind::rejected_row_kept),
                         [](const ::testing::TestParamInfo<FaultKind>& fault) { return fault_name(fault.param); });

// Another sequence's state in place of its own.
TEST(CachedModel, ASiblingsStateIsSeen) {
    const Launch launch = launch_of(kernels::KvType::bf16, 1);
    ModelHarness harness(load_fixture("tiny-bf16", launch.compute), launch);
    const StateFormat format = state_format(harness.model());
    CacheManager cache(format, format.fixed_bytes() + 8 * format.sequence_bytes(kLongest), kLongest);
    const Tokens trunk = test_tokens(100, harness.config().vocab_size, 1);
    const auto vocab = static_cast<size_t>(harness.config().vocab_size);
    const std::vector<float> expected = harness.logits(trunk, {100});
    for (const bool swapped : {false, true}) {
        std::unique_ptr<Lease> one = cache.admit({trunk}, 100), sibling = cache.admit({test_tokens(100, 512, 2)}, 100);
        const Tokens other = test_tokens(100, harness.config().vocab_size, 2);
        for (const int64_t count : {40, 60}) {
            cache.prepare(*one, count, {});
            cache.prepare(*sibling, count, {});
            const auto at = static_cast<size_t>(one->length());
            const auto part = [&](const Tokens& tokens) {
                return std::span(tokens).subspan(at, static_cast<size_t>(count));
            };
            if (swapped && at > 0) std::swap(one->state().tail, sibling->state().tail);
            const SequenceRows batch[] = {{&one->state(), part(trunk), one->pass_pages(), one->tails()},
                                          {&sibling->state(), part(other), sibling->pass_pages(), sibling->tails()}};
            const std::vector<float> logits = harness.pass(batch);
            const bool same = std::memcmp(logits.data(), &expected[at * vocab],
                                          static_cast<size_t>(count) * vocab * sizeof(float)) == 0;
            EXPECT_EQ(same, !swapped || at == 0);
            if (swapped && at > 0) std::swap(one->state().tail, sibling->state().tail);
            cache.commit(*one, std::span(trunk).first(static_cast<size_t>(one->length())));
            cache.commit(*sibling, std::span(other).first(static_cast<size_t>(sibling->length())));
        }
        cache.drop(std::move(one));
        cache.drop(std::move(sibling));
    }
}

}  // namespace
}  // namespace colugo::testing
