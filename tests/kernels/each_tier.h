// Kernel tests run on every tier the CPU has, and on the ones it lacks with their instructions emulated. The tier is in
// the test's name, with "emulated" where it is, and the table says which one ran.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include "kernels/emulated_tiers.h"
#endif
#include "kernels/kernel_table.h"

namespace colugo::kernels {

inline std::vector<Tier> available_tiers() {
    std::vector<Tier> tiers;
    for (Tier tier : {Tier::scalar, Tier::avx2, Tier::avx512, Tier::avx512_bf16, Tier::amx}) {
        if (tier_available(tier)) tiers.push_back(tier);
    }
    return tiers;
}

struct TestedTier {
    std::string name;
    bool emulated;
    KernelTable table;
};

inline const std::vector<TestedTier>& tested_tiers() {
    static const std::vector<TestedTier> tiers = [] {
        std::vector<TestedTier> out;
        for (Tier tier : available_tiers()) out.push_back({tier_name(tier), false, kernel_table(tier)});
#if defined(__x86_64__)
        for (Tier tier : {Tier::avx512, Tier::avx512_bf16, Tier::amx}) {
            if (tier_available(tier) || !tier_available(Tier::avx2)) continue;
            out.push_back({std::string(tier_name(tier)) + "_emulated", true, emulated_table(tier)});
        }
#endif
        return out;
    }();
    return tiers;
}

class EachTier : public ::testing::TestWithParam<const TestedTier*> {
 protected:
    void SetUp() override {
        RecordProperty("tier", GetParam()->name);
        if (table.tier != Tier::scalar) {
            const KernelTable& scalar = kernel_table(Tier::scalar);
            EXPECT_NE(table.matmul, scalar.matmul);
            EXPECT_NE(table.rms_norm, scalar.rms_norm);
            EXPECT_NE(table.attention_pages, scalar.attention_pages);
            EXPECT_NE(table.gdn_page, scalar.gdn_page);
        }
    }

    const KernelTable& table = GetParam()->table;
};

inline std::vector<const TestedTier*> each_tested_tier() {
    std::vector<const TestedTier*> out;
    for (const TestedTier& tier : tested_tiers()) out.push_back(&tier);
    return out;
}

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

#define COLUGO_EACH_TIER(suite)                                                     \
    INSTANTIATE_TEST_SUITE_P(tiers, suite, ::testing::ValuesIn(each_tested_tier()), \
                             [](const auto& tier) { return tier.param->name; })

}  // namespace colugo::kernels
