// FP8 E4M3 with one f32 scale for a tensor (qwen35.md 7.5): weights, activations, keys and values.
#pragma once

#include <cstdint>
#include <span>

namespace colugo {

// The scale ModelOpt writes: amax / 448; 1 for a tensor of zeros.
float fp8_scale(float amax);

// codes[i] = e4m3(values[i] / scale). Returns how many values lie beyond the largest code.
int64_t fp8_codes(std::span<uint8_t> codes, std::span<const float> values, float scale);

// sum importance (value - e4m3(value / scale) scale)^2
double fp8_error(std::span<const float> values, std::span<const float> importance, float scale);

}  // namespace colugo
