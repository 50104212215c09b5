#include "engine/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace colugo {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A page of 1 MiB for 32 positions, and 10 MiB of states for a sequence, 2 of them once for all.
MemoryPlan plan_of(int64_t ctx_size, int parallel) {
    MemoryPlan plan;
    plan.ctx_size = ctx_size;
    plan.parallel = parallel;
    plan.format = {.page_bytes = kMiB, .border_bytes = 2 * kMiB, .rows_bytes = 2 * kMiB, .tail_bytes = 2 * kMiB};
    plan.weight_bytes = 100 * kMiB;
    plan.workspace_bytes = 5 * kMiB;
    plan.cache_bytes = plan.least_cache_bytes(parallel);
    return plan;
}

TEST(MemoryPlan, AddsUp) {
    const MemoryPlan plan = plan_of(3200, 2);
    EXPECT_EQ(plan.pages(), 200);
    EXPECT_EQ(plan.kv_bytes(), 200 * kMiB);
    EXPECT_EQ(plan.state_bytes(), 10 * kMiB);
    EXPECT_EQ(plan.cache_bytes, (200 + 20 + 2) * kMiB);
    EXPECT_EQ(plan.total_bytes(), (100 + 222 + 5) * kMiB);
    EXPECT_EQ(plan.cached_tokens(), 210 * 32);
}

TEST(FitMemory, LeavesAPlanThatFits) {
    MemoryPlan plan = plan_of(3200, 2);
    std::vector<std::string> notices;
    fit_memory(plan, {}, plan.total_bytes(), notices);
    EXPECT_EQ(plan.ctx_size, 3200);
    EXPECT_EQ(plan.cache_bytes, 222 * kMiB);
    EXPECT_TRUE(notices.empty());
}

TEST(FitMemory, ShrinksTheModelsOwnContext) {
    MemoryPlan plan = plan_of(262144, 2);
    std::vector<std::string> notices;
    const uint64_t available = (100 + 5 + 22 + 101) * kMiB;  // 50 pages for each of two
    fit_memory(plan, {}, available, notices);
    EXPECT_EQ(plan.ctx_size, 50 * 32);
    EXPECT_LE(plan.total_bytes(), available);
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_THAT(notices[0], ::testing::HasSubstr("1600 tokens instead of the model's 262144"));
}

TEST(FitMemory, KeepsPrefixesInHalfOfWhatIsLeft) {
    MemoryPlan plan = plan_of(3200, 2);
    std::vector<std::string> notices;
    LaunchOptions options;
    options.keep_prefixes = true;
    fit_memory(plan, options, (105 + 2000) * kMiB, notices);
    EXPECT_EQ(plan.cache_bytes, 1000 * kMiB);
    plan = plan_of(3200, 2);
    fit_memory(plan, options, (105 + 300) * kMiB, notices);
    EXPECT_EQ(plan.cache_bytes, 222 * kMiB);
}

TEST(FitMemory, AGivenCacheHoldsOneSequenceAtLeast) {
    LaunchOptions options;
    options.cache_bytes = (12 + 50) * kMiB;
    MemoryPlan plan = plan_of(262144, 4);
    plan.cache_bytes = options.cache_bytes;
    std::vector<std::string> notices;
    fit_memory(plan, options, 1000 * kMiB, notices);
    EXPECT_EQ(plan.ctx_size, 50 * 32);
    EXPECT_EQ(plan.cache_bytes, options.cache_bytes);
    options.ctx_size = 1601;
    plan = plan_of(1601, 4);
    plan.cache_bytes = options.cache_bytes;
    EXPECT_ERROR(ErrorCode::resource_exhausted, "a context of 1601 tokens",
                 fit_memory(plan, options, 1000 * kMiB, notices));
}

TEST(FitMemory, RefusesWhatCannotFit) {
    std::vector<std::string> notices;
    LaunchOptions options;
    options.ctx_size = 3200;
    MemoryPlan plan = plan_of(3200, 1);
    EXPECT_ERROR(ErrorCode::resource_exhausted, "a context of 3200 tokens",
                 fit_memory(plan, options, plan.total_bytes() - 1, notices));
    MemoryPlan own = plan_of(262144, 1);
    EXPECT_ERROR(ErrorCode::resource_exhausted, "weights 100 MiB", fit_memory(own, {}, kMiB, notices));
    EXPECT_TRUE(notices.empty());
}

TEST(FitMemory, AShortModelKeepsItsContext) {
    MemoryPlan plan = plan_of(64, 1);
    std::vector<std::string> notices;
    EXPECT_ERROR(ErrorCode::resource_exhausted, "a context of 64 tokens", fit_memory(plan, {}, 1, notices));
}

TEST(BytesText, PicksTheUnit) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1536), "1.50 KiB");
    EXPECT_EQ(bytes_text(uint64_t{20} << 20), "20.0 MiB");
    EXPECT_EQ(bytes_text(uint64_t{300} << 30), "300 GiB");
}

}  // namespace
}  // namespace colugo
