#include "quant/nvfp4.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/float_formats.h"

namespace colugo {
namespace {

using kernels::Tier;

std::vector<float> normal_values(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(random);
    return values;
}

struct Row {
    std::vector<uint8_t> scales, codes;
    double error;
};

Row searched(const kernels::KernelTable& table, const std::vector<float>& values, const std::vector<float>& importance,
             float global_scale) {
    Row row{std::vector<uint8_t>(values.size() / 16), std::vector<uint8_t>(values.size() / 2), 0.0};
    row.error = nvfp4_searched_scales(table, row.scales, values, importance, global_scale);
    nvfp4_codes(row.codes, row.scales, values, global_scale);
    return row;
}

TEST(Nvfp4, SearchedScalesAreNeverWorse) {
    const std::vector<float> values = normal_values(4096, 1);
    std::vector<float> importance = normal_values(4096, 2);
    for (float& weight : importance) weight *= weight;
    const float global_scale = nvfp4_global_scale(4.0f);
    const Row best = searched(kernels::kernel_table(kernels::select_tier()), values, importance, global_scale);
    Row amax{std::vector<uint8_t>(256), std::vector<uint8_t>(2048), 0.0};
    nvfp4_amax_scales(amax.scales, values, global_scale);
    nvfp4_codes(amax.codes, amax.scales, values, global_scale);
    size_t better = 0;
    for (size_t block = 0; block < 256; ++block) {
        const auto error = [&](const Row& row) {
            return nvfp4_error(std::span(row.codes).subspan(block * 8, 8), std::span(row.scales).subspan(block, 1),
                               std::span(values).subspan(block * 16, 16), std::span(importance).subspan(block * 16, 16),
                               global_scale);
        };
        EXPECT_LE(error(best), error(amax) * (1.0 + 1e-6)) << block;
        better += error(best) < error(amax) ? 1 : 0;
    }
    EXPECT_GT(better, 100u);
    EXPECT_NEAR(best.error, nvfp4_error(best.codes, best.scales, values, importance, global_scale), 1e-4 * best.error);
}

TEST(Nvfp4, EveryTierFindsTheSame) {
    const std::vector<float> values = normal_values(4096, 3);
    const std::vector<float> importance(4096, 1.0f);
    const Row scalar = searched(kernels::kernel_table(Tier::scalar), values, importance, 1e-3f);
    for (Tier tier : {Tier::avx2, Tier::avx512, Tier::avx512_bf16, Tier::amx}) {
        if (!kernels::tier_available(tier)) continue;
        const Row row = searched(kernels::kernel_table(tier), values, importance, 1e-3f);
        EXPECT_EQ(row.scales, scalar.scales);
        EXPECT_EQ(row.error, scalar.error);
    }
}

TEST(Nvfp4, ExtremeBlocks) {
    std::vector<float> values(48, 0.0f);
    values[16] = 1e-30f;  // far below what the scale of a block can say
    values[32] = -0.0f;
    values[33] = 6.0f;
    const float global_scale = nvfp4_global_scale(6.0f);
    std::vector<uint8_t> scales(3), codes(24);
    nvfp4_amax_scales(scales, values, global_scale);
    EXPECT_EQ(e4m3_to_f32(scales[0]), 1.0f);
    EXPECT_EQ(e4m3_to_f32(scales[1]), 0x1p-9f);
    EXPECT_EQ(e4m3_to_f32(scales[2]), 448.0f);
    EXPECT_EQ(nvfp4_codes(codes, scales, values, global_scale), 0);
    EXPECT_EQ(codes[16], 0x70);  // -0 has no sign; 6 is code 7
    EXPECT_EQ(nvfp4_global_scale(0.0f), 1.0f);
    const std::vector<float> zeros(48, 0.0f), ones(48, 1.0f);
    nvfp4_searched_scales(kernels::kernel_table(kernels::select_tier()), scales, zeros, ones, 1.0f);
    for (const uint8_t scale : scales) EXPECT_EQ(e4m3_to_f32(scale), 1.0f);
}

}  // namespace
}  // namespace colugo
