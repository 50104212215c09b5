#include "cli/kernel_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace colugo {
namespace {

TEST(KernelCheck, EveryTierOfThisMachinePasses) {
    for (const kernels::Tier tier : {kernels::Tier::scalar, kernels::Tier::avx2, kernels::Tier::avx512,
                                     kernels::Tier::avx512_bf16, kernels::Tier::amx}) {
        if (!kernels::tier_available(tier)) continue;
        for (const KernelCheck& check : check_kernels(tier)) {
            EXPECT_TRUE(check.passed()) << kernels::tier_name(tier) << " " << check.name << ": " << check.max_error;
            if (tier == kernels::Tier::scalar) {
                EXPECT_EQ(check.max_error, 0.0) << check.name;
            }
        }
    }
}

TEST(KernelCheck, ALargeErrorAndANanFail) {
    EXPECT_TRUE((KernelCheck{"exact", 1e-5, 1e-5}.passed()));
    EXPECT_FALSE((KernelCheck{"off", 1.1e-5, 1e-5}.passed()));
    EXPECT_FALSE((KernelCheck{"nan", std::nan(""), 1e-5}.passed()));
}

}  // namespace
}  // namespace colugo
