// NVFP4 panels (packed_weight.h) as f32, for the multipliers that work in f32.
#pragma once

#include <cstddef>

#include "kernels/packed_weight.h"

namespace colugo::kernels {

// out[k_count][16] = columns 0..15 of the panel at k = 0..k_count, without alpha: code x scale, exact in f32. k_count
// is a multiple of 16.
template <class V>
void unpack_nvfp4_panel(float* out, const std::byte* panel, int k_count);

}  // namespace colugo::kernels

#include "kernels/generic/unpack_panel.inl"
