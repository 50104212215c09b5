#include "engine/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace colugo {
namespace {

MemoryPlan plan_of(int64_t ctx_size, int parallel) {
    MemoryPlan plan;
    plan.ctx_size = ctx_size;
    plan.parallel = parallel;
    plan.page_bytes = 1 << 20;
    plan.pages = (ctx_size + 31) / 32 * parallel;
    plan.weight_bytes = uint64_t{100} << 20;
    plan.state_bytes = uint64_t{10} << 20;
    plan.workspace_bytes = uint64_t{5} << 20;
    return plan;
}

TEST(MemoryPlan, AddsUp) {
    const MemoryPlan plan = plan_of(3200, 2);
    EXPECT_EQ(plan.kv_bytes(), uint64_t{200} << 20);
    EXPECT_EQ(plan.total_bytes(), uint64_t{100 + 200 + 20 + 5} << 20);
}

TEST(FitMemory, LeavesAPlanThatFits) {
    MemoryPlan plan = plan_of(3200, 2);
    std::vector<std::string> notices;
    fit_memory(plan, {}, plan.total_bytes(), notices);
    EXPECT_EQ(plan.ctx_size, 3200);
    EXPECT_TRUE(notices.empty());
}

TEST(FitMemory, ShrinksTheModelsOwnContext) {
    MemoryPlan plan = plan_of(262144, 2);
    std::vector<std::string> notices;
    const uint64_t available = uint64_t{100 + 20 + 5 + 101} << 20;  // 50 pages for each of two
    fit_memory(plan, {}, available, notices);
    EXPECT_EQ(plan.ctx_size, 50 * 32);
    EXPECT_EQ(plan.pages, 100);
    EXPECT_LE(plan.total_bytes(), available);
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_THAT(notices[0], ::testing::HasSubstr("1600 tokens instead of the model's 262144"));
}

TEST(FitMemory, RefusesWhatCannotFit) {
    std::vector<std::string> notices;
    LaunchOptions options;
    options.ctx_size = 3200;
    MemoryPlan plan = plan_of(3200, 1);
    EXPECT_ERROR(ErrorCode::resource_exhausted, "a context of 3200 tokens",
                 fit_memory(plan, options, plan.total_bytes() - 1, notices));
    MemoryPlan own = plan_of(262144, 1);
    EXPECT_ERROR(ErrorCode::resource_exhausted, "weights 100 MiB", fit_memory(own, {}, uint64_t{1} << 20, notices));
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
