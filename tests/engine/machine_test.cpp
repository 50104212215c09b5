#include "engine/machine.h"

#include <gtest/gtest.h>

namespace colugo {
namespace {

TEST(Machine, IsDescribed) {
    EXPECT_FALSE(cpu_name().empty());
    EXPECT_GE(usable_cpus(), 1);
    EXPECT_GT(total_memory(), uint64_t{1} << 26);
    EXPECT_GT(available_memory(), uint64_t{0});
    EXPECT_LE(available_memory(), total_memory());
}

}  // namespace
}  // namespace colugo
