#include "quant/nvfp4.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/float_formats.h"

namespace colugo {

namespace {

// [128] the values of the codes that are not negative.
const std::array<float, 128>& e4m3_values() {
    static const std::array<float, 128> values = [] {
        std::array<float, 128> all{};
        for (size_t code = 0; code < all.size(); ++code) all[code] = e4m3_to_f32(static_cast<uint8_t>(code));
        return all;
    }();
    return values;
}

}  // namespace

float nvfp4_global_scale(float amax) {
    return amax > 0.0f ? amax / (kE2m1Max * kE4m3Max) : 1.0f;
}

void nvfp4_amax_scales(std::span<uint8_t> scales, std::span<const float> row, float global_scale) {
    COLUGO_CHECK(scales.size() * kNvfp4Block == row.size());
    constexpr float kSmallest = 0x1p-9f;
    for (size_t block = 0; block < scales.size(); ++block) {
        float amax = 0.0f;
        for (const float value : row.subspan(block * kNvfp4Block, kNvfp4Block)) amax = std::max(amax, std::fabs(value));
        const float scale = amax / (kE2m1Max * global_scale);
        scales[block] = f32_to_e4m3(scale == 0.0f ? 1.0f : std::max(scale, kSmallest));
    }
}

double nvfp4_searched_scales(const kernels::KernelTable& table, std::span<uint8_t> scales, std::span<const float> row,
                             std::span<const float> importance, float global_scale) {
    COLUGO_CHECK(importance.size() == row.size());
    nvfp4_amax_scales(scales, row, global_scale);
    double error = 0.0;
    table.nvfp4_scales(scales.data(), &error, row.data(), importance.data(), static_cast<int>(row.size()), global_scale,
                       e4m3_values().data());
    return error;
}

int64_t nvfp4_codes(std::span<uint8_t> codes, std::span<const uint8_t> scales, std::span<const float> row,
                    float global_scale) {
    COLUGO_CHECK(codes.size() * 2 == row.size() && scales.size() * kNvfp4Block == row.size());
    int64_t beyond = 0;
    for (size_t i = 0; i < row.size(); i += 2) {
        const float divisor = e4m3_values()[scales[i / kNvfp4Block]] * global_scale;
        uint8_t pair[2];
        for (size_t j = 0; j < 2; ++j) {
            const float value = row[i + j] / divisor;
            // ModelOpt writes the zero of -0 without a sign.
            pair[j] = row[i + j] == 0.0f ? uint8_t{0} : f32_to_e2m1(value);
            beyond += std::fabs(value) > kE2m1Max ? 1 : 0;
        }
        codes[i / 2] = static_cast<uint8_t>(pair[0] | pair[1] << 4);
    }
    return beyond;
}

double nvfp4_error(std::span<const uint8_t> codes, std::span<const uint8_t> scales, std::span<const float> row,
                   std::span<const float> importance, float global_scale) {
    double error = 0.0;
    for (size_t i = 0; i < row.size(); ++i) {
        const int code = codes[i / 2] >> (i % 2 * 4) & 0xf;
        const float stored = kE2m1Values[code] * (e4m3_values()[scales[i / kNvfp4Block]] * global_scale);
        const float difference = row[i] - stored;
        error += static_cast<double>(difference * difference * importance[i]);
    }
    return error;
}

}  // namespace colugo
