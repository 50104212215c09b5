#include "cache/slot_pool.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"

namespace colugo {
namespace {

constexpr uint64_t kPageBytes = 4096;

TEST(SlotPool, GrantsUpToTheLimitAndNoFurther) {
    MemoryBudget budget(3 * kPageBytes);
    SlotPool pool(budget, 100);
    EXPECT_EQ(pool.slot_cost(), kPageBytes);
    std::vector<SlotRef> refs;
    for (int i = 0; i < 3; ++i) refs.push_back(pool.grant());
    for (const SlotRef& ref : refs) EXPECT_TRUE(ref);
    EXPECT_FALSE(pool.grant());
    EXPECT_EQ(budget.available(), 0u);
    std::memset(refs[1].data(), 7, 100);
    refs.pop_back();
    EXPECT_EQ(budget.available(), kPageBytes);
    EXPECT_TRUE(pool.grant());
    EXPECT_EQ(refs[1].data()[99], std::byte{7});
}

TEST(SlotPool, ASlotIsFreeWhenItsLastReferenceGoes) {
    MemoryBudget budget(kPageBytes);
    SlotPool pool(budget, 64);
    SlotRef first = pool.grant();
    EXPECT_TRUE(first.unique());
    SlotRef second = first;
    EXPECT_EQ(second.references(), 2);
    EXPECT_EQ(second, first);
    first = {};
    EXPECT_FALSE(pool.grant());
    EXPECT_TRUE(second.unique());
    const SlotRef moved = std::move(second);
    EXPECT_TRUE(moved.unique());
    EXPECT_EQ(pool.granted(), 1);
}

TEST(SlotPool, FreeMemoryOfOnePoolMakesRoomForAnother) {
    MemoryBudget budget(8 * kPageBytes);
    SlotPool small(budget, kPageBytes), large(budget, 4 * kPageBytes);
    {
        std::vector<SlotRef> refs;
        for (int i = 0; i < 8; ++i) {
            refs.push_back(small.grant());
            std::memset(refs.back().data(), 1, kPageBytes);
        }
    }
    EXPECT_EQ(budget.used(), 0u);
    EXPECT_EQ(budget.kept(), 8 * kPageBytes);
    const SlotRef one = large.grant();
    ASSERT_TRUE(one);
    EXPECT_EQ(budget.kept(), 4 * kPageBytes);  // the rest went back to the system
    EXPECT_EQ(budget.used(), 4 * kPageBytes);
    EXPECT_TRUE(budget.take(2 * kPageBytes));
    EXPECT_EQ(budget.kept(), 2 * kPageBytes);
    EXPECT_FALSE(budget.take(3 * kPageBytes));
    budget.give_back(2 * kPageBytes);
    std::vector<SlotRef> again;
    for (int i = 0; i < 4; ++i) again.push_back(small.grant());
    for (const SlotRef& ref : again) EXPECT_TRUE(ref);
    EXPECT_FALSE(small.grant());
}

}  // namespace
}  // namespace colugo
