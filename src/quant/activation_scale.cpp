#include "quant/activation_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "quant/fp8.h"
#include "quant/nvfp4.h"

namespace colugo {

namespace {

// Outliers that the samples do not show are at most cut to a half.
constexpr float kFactors[] = {1.0f, 0.875f, 0.75f, 0.625f, 0.5f};

double nvfp4_activation_error(TensorView samples, float input_scale) {
    double error = 0.0;
    for (int64_t row = 0; row < samples.rows; ++row) {
        for (int64_t begin = 0; begin < samples.cols; begin += kNvfp4Block) {
            const std::span<const float> block(
                samples.f32(row) + begin, static_cast<size_t>(std::min<int64_t>(kNvfp4Block, samples.cols - begin)));
            float amax = 0.0f;
            for (const float value : block) amax = std::max(amax, std::fabs(value));
            const float scale = e4m3_to_f32(f32_to_e4m3(amax / kE2m1Max / input_scale)) * input_scale;
            for (const float value : block) {
                const float stored = scale > 0.0f ? kE2m1Values[f32_to_e2m1(value / scale)] * scale : 0.0f;
                error += static_cast<double>(value - stored) * static_cast<double>(value - stored);
            }
        }
    }
    return error;
}

double fp8_activation_error(TensorView samples, float scale) {
    const std::vector<float> ones(static_cast<size_t>(samples.cols), 1.0f);
    double error = 0.0;
    for (int64_t row = 0; row < samples.rows; ++row) {
        error += fp8_error({samples.f32(row), ones.size()}, ones, scale);
    }
    return error;
}

}  // namespace

float nvfp4_input_scale(TensorView samples, float amax, bool by_amax) {
    const float scale = nvfp4_global_scale(amax);
    if (by_amax) return scale;
    float best = scale;
    double least = std::numeric_limits<double>::infinity();
    for (const float factor : kFactors) {
        const double error = nvfp4_activation_error(samples, scale * factor);
        if (error >= least) continue;
        least = error;
        best = scale * factor;
    }
    return best;
}

float fp8_cache_scale(TensorView samples, float amax, bool by_amax) {
    constexpr double kClearly = 0.98;
    const float fitting = std::max(fp8_scale(amax), 1.0f);
    if (by_amax) return fitting;
    const float other = 2.0f * fp8_scale(amax);  // room for what calibration has not seen
    return fp8_activation_error(samples, other) < kClearly * fp8_activation_error(samples, fitting) ? other : fitting;
}

}  // namespace colugo
