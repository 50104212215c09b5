// Scopes of the cache, which share nothing, and what it tells of a prompt before it is submitted.
#include <future>

#include "engine/engine_harness.h"
#include "support/temp_folder.h"

namespace colugo::testing {
namespace {

ColdRuns& cold() {
    static ColdRuns runs;
    return runs;
}

Request scoped(Request request, std::string scope) {
    request.cache_scope = std::move(scope);
    return request;
}

TEST(CacheScope, WhatOneScopeReadIsReadAgainInAnother) {
    EngineHarness harness;
    const Request plain = request_of(tokens_of(150, 7), 5);
    for (const std::string scope : {"", "a", "b"}) {
        const Request request = scoped(plain, scope);
        const auto first = harness.run(request), again = harness.run(request);
        EXPECT_EQ(first->result().cached_tokens, 0) << scope;
        EXPECT_EQ(first->result().matched_tokens, 0) << scope;
        EXPECT_EQ(again->result().cached_tokens, 149) << scope;
        cold().expect_same(plain, *first, "first of " + scope);
        cold().expect_same(plain, *again, "again in " + scope);
    }
}

TEST(CacheScope, ScopesAreKeptApartOnDisk) {
    const TempFolder folder;
    const Request plain = request_of(tokens_of(150, 7), 5);
    EngineHarness({.cache_disk = folder.path()}).run(scoped(plain, "a"));
    EngineHarness harness({.cache_disk = folder.path()});
    for (const std::string scope : {"b", "", "a"}) {
        const auto heard = harness.run(scoped(plain, scope));
        EXPECT_EQ(heard->result().cached_tokens, scope == "a" ? 149 : 0) << scope;
        cold().expect_same(plain, *heard, scope);
    }
    EXPECT_EQ(harness.engine().metrics().disk.reads, 1);
    EXPECT_TRUE(harness.log.empty());
}

TEST(CacheScope, NobodyWaitsForAReaderOfAnotherScope) {
    const std::vector<int32_t> common = tokens_of(150, 40);
    EngineHarness harness({.parallel = 4, .max_rows = 32});
    std::vector<Request> requests;
    std::vector<EngineHarness::Submitted> submitted;
    for (uint64_t i = 0; i < 4; ++i) {
        requests.push_back(scoped(request_of(joined(common, tokens_of(20, 60 + i)), 3), i % 2 == 0 ? "a" : "b"));
        submitted.push_back(harness.submit(requests.back()));
    }
    harness.finish();
    int64_t fed = 0;
    for (size_t i = 0; i < 4; ++i) {
        cold().expect_same(requests[i], *submitted[i].heard, std::to_string(i));
        fed += submitted[i].heard->result().fed_tokens;
    }
    EXPECT_EQ(fed, 2 * 150 + 4 * (20 + 2));
    EXPECT_EQ(harness.engine().metrics().scheduler.shared_reads, 2);
}

CacheManager::Lookup found(EngineHarness& harness, const Request& request) {
    std::future<CacheManager::Lookup> answer =
        harness.engine().look_up(OwnedPrefix(request.prompt, request.cache_scope));
    harness.step();
    return answer.get();
}

TEST(CacheLookUp, TellsWhatTheNextRequestFindsAndChangesNothing) {
    EngineHarness asked, silent;
    for (int turn = 0; turn < 6; ++turn) {
        Request request =
            request_of(joined(tokens_of(150, 7), tokens_of(10 + turn, 20 + static_cast<uint64_t>(turn))), 2);
        if (turn % 3 == 2) request.cache_scope = "a";
        found(asked, request);
        const CacheManager::Lookup lookup = found(asked, request);
        const RequestResult heard = silent.run(request)->result();
        EXPECT_EQ(lookup.cached_len, heard.cached_tokens) << turn;
        EXPECT_EQ(lookup.matched_len, heard.matched_tokens) << turn;
        asked.run(request);
    }
    const EngineMetrics metrics = asked.engine().metrics(), other = silent.engine().metrics();
    EXPECT_EQ(metrics.cache.queries, other.cache.queries);
    EXPECT_EQ(metrics.cache.hit_tokens, other.cache.hit_tokens);
    EXPECT_EQ(metrics.snapshots, other.snapshots);
    EXPECT_EQ(metrics.used_bytes, other.used_bytes);
    EXPECT_EQ(metrics.cache.hits, 2);  // the others part where there is no snapshot yet
}

TEST(CacheLookUp, TellsWhatTheDiskHas) {
    const TempFolder folder;
    const Request request = request_of(tokens_of(150, 7), 5);
    EngineHarness({.cache_disk = folder.path()}).run(request);
    EngineHarness harness({.cache_disk = folder.path()});
    EXPECT_EQ(found(harness, request).cached_len, 149);
    EXPECT_EQ(found(harness, request).matched_len, 149);
    EXPECT_EQ(harness.engine().metrics().disk.reads, 0);
    Request other = request;
    other.cache_scope = "a";
    EXPECT_EQ(found(harness, other).cached_len, 0);
    EXPECT_EQ(harness.run(request)->result().cached_tokens, 149);
}

}  // namespace
}  // namespace colugo::testing
