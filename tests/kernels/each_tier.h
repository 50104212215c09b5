// Kernel tests run on every tier the CPU has; the tier is in the test's name and the table says which one ran.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernel_table.h"

namespace colugo::kernels {

inline std::vector<Tier> available_tiers() {
    std::vector<Tier> tiers;
    for (Tier tier : {Tier::scalar, Tier::avx2, Tier::avx512, Tier::avx512_bf16, Tier::amx}) {
        if (tier_available(tier)) tiers.push_back(tier);
    }
    return tiers;
}

class EachTier : public ::testing::TestWithParam<Tier> {
 protected:
    void SetUp() override {
        ASSERT_EQ(table.tier, GetParam());
        RecordProperty("tier", tier_name(table.tier));
        // A table is not another one under a new name.
        if (table.tier != Tier::scalar) {
            EXPECT_NE(table.rms_norm, kernel_table(Tier::scalar).rms_norm);
            EXPECT_NE(table.attention_page, kernel_table(Tier::scalar).attention_page);
            EXPECT_NE(table.gdn_page, kernel_table(Tier::scalar).gdn_page);
        }
    }

    const KernelTable& table = kernel_table(GetParam());
};

// Random values, the same on every run.
class Random {
 public:
    explicit Random(uint32_t seed) : bits_(seed) {}
    float uniform(float low, float high) { return low + (high - low) * static_cast<float>(bits_() >> 8) * 0x1p-24f; }
    int index(int count) { return static_cast<int>(bits_() % static_cast<uint32_t>(count)); }
    std::vector<float> values(size_t count, float low = -1.0f, float high = 1.0f) {
        std::vector<float> out(count);
        for (float& value : out) value = uniform(low, high);
        return out;
    }

 private:
    std::mt19937 bits_;
};

inline ::testing::AssertionResult same_bits(const float* a, const float* b, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (std::memcmp(a + i, b + i, sizeof(float)) != 0) {
            return ::testing::AssertionFailure() << "value " << i << ": " << a[i] << " and " << b[i];
        }
    }
    return ::testing::AssertionSuccess();
}

#define COLUGO_EACH_TIER(suite)                                                    \
    INSTANTIATE_TEST_SUITE_P(tiers, suite, ::testing::ValuesIn(available_tiers()), \
                             [](const auto& tier) { return std::string(tier_name(tier.param)); })

}  // namespace colugo::kernels
