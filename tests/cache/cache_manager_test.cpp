// The cache manager under random operations, with a model whose state is a hash of the prefix, and every count and
// reference checked after each.
#include "cache/cache_manager.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <random>

#include "cache/fake_model.h"
#include "support/expect_error.h"

namespace colugo::testing {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int64_t kLongest = 200;
constexpr int kPage = FakeModel::kPage;

uint64_t budget_for(double sequences) {
    const StateFormat format = FakeModel::format();
    return format.fixed_bytes() +
           static_cast<uint64_t>(sequences * static_cast<double>(format.sequence_bytes(kLongest)));
}

// A sequence as the engine would run it.
struct Running {
    std::unique_ptr<Lease> lease;
    Tokens tokens;
    int64_t worst_length;
    size_t scope = 0;

    // As the model sees them: others in each scope, so that a state which crosses from one to another is seen.
    Tokens seen() const {
        Tokens of_scope = tokens;
        of_scope.front() += 1000 * static_cast<int32_t>(scope);
        return of_scope;
    }
};

const std::string kScopes[] = {"", "one", std::string(5000, 'x')};

// Tokens that begin like ones seen before, to any length, and go on at random.
class TokenSource {
 public:
    explicit TokenSource(uint64_t seed) : random_(seed) {}
    Tokens draw(int64_t most) {
        Tokens tokens;
        if (!seen_.empty() && below(5) > 0) {
            const Tokens& other = seen_[below(seen_.size())];
            tokens.assign(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1)));
        }
        const size_t length = tokens.size() + 1 + below(60);
        while (tokens.size() < length) tokens.push_back(static_cast<int32_t>(below(3)));
        tokens.resize(std::min(tokens.size(), static_cast<size_t>(most)));
        if (seen_.size() < 50) seen_.emplace_back();
        seen_[below(seen_.size())] = tokens;
        return tokens;
    }
    size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

 private:
    std::mt19937_64 random_;
    std::vector<Tokens> seen_{{}};
};

class RandomRun {
 public:
    RandomRun(uint64_t seed, double sequences, StateFormat format = FakeModel::format())
        : cache(std::move(format), budget_for(sequences), kLongest), source_(seed) {}
    ~RandomRun() {
        for (Running& one : running_) cache.drop(std::move(one.lease));
    }

    // Returns what is wrong after one random operation.
    std::string step() {
        const size_t choice = source_.below(10);
        std::string fault;
        if (running_.empty() || (choice < 2 && running_.size() < 8)) {
            start();
        } else if (choice < 8) {
            fault = feed(running_[source_.below(running_.size())]);
        } else {
            end(source_.below(running_.size()), choice == 8);
        }
        return fault.empty() ? cache.fault() : fault;
    }

    CacheManager cache;

 private:
    void start() {
        Running one;
        one.tokens = source_.draw(kLongest);
        if (source_.below(4) == 0) one.scope = source_.below(std::size(kScopes));
        one.worst_length = std::min<int64_t>(kLongest, static_cast<int64_t>(one.tokens.size() + source_.below(40)));
        one.lease = cache.admit({one.tokens, kScopes[one.scope]}, one.worst_length);
        if (one.lease) running_.push_back(std::move(one));
    }

    std::string feed(Running& one) {
        while (static_cast<int64_t>(one.tokens.size()) < one.worst_length && source_.below(3) == 0) {
            one.tokens.push_back(static_cast<int32_t>(source_.below(3)));
        }
        const auto pending = static_cast<size_t>(static_cast<int64_t>(one.tokens.size()) - one.lease->length());
        if (pending == 0) return {};
        const auto count = static_cast<int64_t>(1 + source_.below(pending));
        std::vector<int64_t> snapshots;
        for (int64_t position = one.lease->length() + 1; position <= one.lease->length() + count; ++position) {
            if (source_.below(20) == 0) snapshots.push_back(position);
        }
        cache.prepare(*one.lease, count, snapshots);
        if (std::string fault = cache.fault(); !fault.empty()) return "prepared: " + fault;
        std::string fault = FakeModel::forward(*one.lease, one.seen(), count);
        cache.commit(*one.lease, std::span(one.tokens).first(static_cast<size_t>(one.lease->length())));
        return fault;
    }

    void end(size_t index, bool keep) {
        Running one = std::move(running_[index]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
        const auto fed = static_cast<size_t>(one.lease->length());
        if (keep) {
            cache.finish(std::move(one.lease), std::span(one.tokens).first(fed));
        } else {
            cache.drop(std::move(one.lease));
        }
    }

    TokenSource source_;
    std::vector<Running> running_;
};

TEST(CacheManager, HoldsOverRandomOperations) {
    constexpr int kSteps = 1500;  // of 100 runs
    CacheCounters all;
    const bool held = rc::check("the state read is the prefix's, whatever is shared and evicted", [&] {
        const auto seed = *rc::gen::arbitrary<uint64_t>();
        const auto sequences = *rc::gen::element(1.0, 1.5, 3.0, 6.0);
        RandomRun run(seed, sequences);
        for (int step = 0; step < kSteps; ++step) {
            const std::string fault = run.step();
            if (!fault.empty()) RC_FAIL("step " + std::to_string(step) + ": " + fault);
        }
        const CacheCounters& counters = run.cache.counters();
        all.hits += counters.hits;
        all.evictions += counters.evictions;
        all.snapshots_taken += counters.snapshots_taken;
        all.snapshots_left_out += counters.snapshots_left_out;
    });
    EXPECT_TRUE(held);
    EXPECT_GT(all.hits, 1000);
    EXPECT_GT(all.evictions, 1000);
    EXPECT_GT(all.snapshots_taken, 1000);
    EXPECT_GT(all.snapshots_left_out, 10);
}

TEST(CacheManager, TheFakeModelSeesAPageThatWasNotCopied) {
    StateFormat format = FakeModel::format();
    format.copy_page = [](std::byte*, const std::byte*, int) {};
    RandomRun run(1, 6.0, format);
    bool seen = false;
    for (int step = 0; step < 2000 && !seen; ++step) seen = run.step().starts_with("page");
    EXPECT_TRUE(seen);
}

class CacheManagerTest : public ::testing::Test {
 protected:
    // A sequence that is fed whole, with snapshots at the given positions, and ended.
    int64_t run(CacheManager& cache, const Tokens& tokens, const std::vector<int64_t>& snapshots = {},
                const std::string& scope = "") {
        std::unique_ptr<Lease> lease = cache.admit({tokens, scope}, static_cast<int64_t>(tokens.size()));
        EXPECT_TRUE(lease);
        const int64_t cached = lease->cached_len();
        std::vector<int64_t> ahead;
        for (const int64_t position : snapshots) {
            if (position > cached) ahead.push_back(position);
        }
        const auto count = static_cast<int64_t>(tokens.size()) - cached;
        cache.prepare(*lease, count, ahead);
        EXPECT_EQ(FakeModel::forward(*lease, tokens, count), "");
        cache.commit(*lease, tokens);
        cache.finish(std::move(lease), tokens);
        EXPECT_EQ(cache.fault(), "");
        return cached;
    }
    static Tokens numbers(int first, int count) {
        Tokens tokens;
        for (int i = 0; i < count; ++i) tokens.push_back(first + i);
        return tokens;
    }
    static Tokens joined(Tokens a, const Tokens& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    }
};

TEST_F(CacheManagerTest, ResumesAtTheExactToken) {
    for (int64_t position = 1; position < 100; ++position) {
        CacheManager cache(FakeModel::format(), budget_for(4), kLongest);
        const Tokens trunk = numbers(0, 100);
        EXPECT_EQ(run(cache, trunk, {position}), 0);
        const Tokens other = joined(Tokens(trunk.begin(), trunk.begin() + position), numbers(1000, 50));
        EXPECT_EQ(run(cache, other), position);
        EXPECT_EQ(run(cache, trunk), position);  // one token is always left to feed
    }
}

TEST_F(CacheManagerTest, ASnapshotIsRefusedNotTheRequestWhenMemoryIsShort) {
    CacheManager cache(FakeModel::format(), budget_for(1), kLongest);
    const Tokens tokens = numbers(0, kLongest);
    std::unique_ptr<Lease> lease = cache.admit({tokens}, kLongest);
    ASSERT_TRUE(lease);
    EXPECT_FALSE(cache.admit({numbers(500, 10)}, 20));  // all of it is promised
    const int64_t wanted[] = {50, 100};
    cache.prepare(*lease, kLongest, wanted);
    EXPECT_EQ(FakeModel::forward(*lease, tokens, kLongest), "");
    cache.commit(*lease, tokens);
    EXPECT_EQ(cache.counters().snapshots_left_out, 2);
    EXPECT_EQ(cache.counters().snapshots_taken, 0);
    cache.finish(std::move(lease), tokens);
    EXPECT_EQ(cache.counters().snapshots_taken, 1);  // takes what the lease had
    EXPECT_EQ(cache.fault(), "");
}

TEST_F(CacheManagerTest, WhatManyUseOutlivesWhatOneLeaves) {
    CacheManager cache(FakeModel::format(), budget_for(2.5), kLongest);
    const Tokens trunk = numbers(0, 96);
    run(cache, joined(trunk, numbers(1000, 10)), {96});
    for (int i = 0; i < 4; ++i) EXPECT_EQ(run(cache, joined(trunk, numbers(2000 + 100 * i, 10))), 96);
    for (int i = 0; i < 14; ++i) run(cache, numbers(10000 + 1000 * i, 150));  // each once
    EXPECT_GT(cache.counters().evictions, 10);
    EXPECT_EQ(run(cache, joined(trunk, numbers(9000, 10))), 96);
}

// What evicts looks at every snapshot, so it does so for a while to come and the steps between are free of it.
TEST_F(CacheManagerTest, AnEvictionAmongTenThousandSnapshotsLastsForAHundred) {
    constexpr size_t kSnapshots = 10000;
    const StateFormat format = FakeModel::format();
    CacheManager cache(format, kSnapshots * (format.sequence_bytes(kPage) - 3 * SlotPool::cost_of(1)), kPage);
    int next = 0;
    const auto add = [&] {
        const Tokens tokens = numbers(100 * next++, kPage);
        std::unique_ptr<Lease> lease = cache.admit({tokens}, kPage);
        cache.prepare(*lease, kPage, {});
        FakeModel::forward(*lease, tokens, kPage);
        cache.commit(*lease, tokens);
        cache.finish(std::move(lease), tokens);
    };
    while (cache.counters().evictions == 0) add();
    EXPECT_GT(cache.num_snapshots(), kSnapshots * 9 / 10);
    int adds = 0;
    for (const int64_t before = cache.counters().evictions; cache.counters().evictions == before; ++adds) add();
    EXPECT_GT(adds, 100);
    EXPECT_EQ(cache.fault(), "");
}

TEST_F(CacheManagerTest, ScopesShareTheBudgetAndNothingElse) {
    CacheManager cache(FakeModel::format(), budget_for(6), kLongest);
    const Tokens tokens = numbers(0, 100);
    for (const char* scope : {"", "a", "b"}) EXPECT_EQ(run(cache, tokens, {50}, scope), 0) << scope;
    for (const char* scope : {"", "a", "b"}) EXPECT_EQ(run(cache, tokens, {}, scope), 50) << scope;
    EXPECT_EQ(cache.look_up({tokens, "c"}).matched_len, 0);
    EXPECT_EQ(cache.tree().num_scopes(), 3u);
    // What is read in one takes the memory of all others.
    int runs = 0;
    for (; cache.look_up({tokens, "a"}).matched_len + cache.look_up({tokens}).matched_len > 0; ++runs) {
        ASSERT_LT(runs, 100);
        EXPECT_EQ(run(cache, numbers(1000 * (1 + runs), kLongest), {}, "b"), 0);
    }
    EXPECT_GT(runs, 3);
    EXPECT_EQ(cache.tree().num_scopes(), 1u);
}

TEST_F(CacheManagerTest, ATooSmallBudgetIsRefusedByItsNumbers) {
    EXPECT_ERROR(ErrorCode::resource_exhausted, "one sequence of 200 tokens",
                 CacheManager(FakeModel::format(), budget_for(1) - 1, kLongest));
}

TEST_F(CacheManagerTest, ADroppedLeaseLeavesNothing) {
    CacheManager cache(FakeModel::format(), budget_for(2), kLongest);
    const uint64_t before = cache.budget().used();
    const Tokens tokens = numbers(0, 40);
    std::unique_ptr<Lease> lease = cache.admit({tokens}, 60);
    cache.prepare(*lease, 40, {});
    EXPECT_EQ(FakeModel::forward(*lease, tokens, 40), "");
    cache.commit(*lease, tokens);
    cache.drop(std::move(lease));
    EXPECT_EQ(cache.budget().used(), before);
    EXPECT_EQ(cache.num_snapshots(), 0u);
}

}  // namespace
}  // namespace colugo::testing
