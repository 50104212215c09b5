// NVFP4 of a weight matrix's rows (qwen35.md 7.1, 7.2): a value is e2m1 code x e4m3 scale of its block of 16 x one f32
// scale of the whole tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernel_table.h"

namespace colugo {

inline constexpr int kNvfp4Block = 16;

// The tensor's scale that ModelOpt writes: amax / (6 x 448); 1 for a tensor of zeros.
float nvfp4_global_scale(float amax);

// One row's scales as ModelOpt chooses them: e4m3(block amax / (6 global_scale)), at least 2^-9; 1 for a block of
// zeros. scales: [row.size() / 16] e4m3
void nvfp4_amax_scales(std::span<uint8_t> scales, std::span<const float> row, float global_scale);

// The same scales moved to where the error weighted by `importance` (of each input, [row.size()]) is least. Returns
// that error's sum.
double nvfp4_searched_scales(const kernels::KernelTable& table, std::span<uint8_t> scales, std::span<const float> row,
                             std::span<const float> importance, float global_scale);

// codes: [row.size() / 2], the lower nibble first. Returns how many values lie beyond the largest code.
int64_t nvfp4_codes(std::span<uint8_t> codes, std::span<const uint8_t> scales, std::span<const float> row,
                    float global_scale);

// sum importance (value - code x scale)^2
double nvfp4_error(std::span<const uint8_t> codes, std::span<const uint8_t> scales, std::span<const float> row,
                   std::span<const float> importance, float global_scale);

}  // namespace colugo
