// Packed panels (packed_weight.h) as f32, for the multipliers that work in f32: matmuls and attention's tiles.
#pragma once

#include <cstddef>

#include "kernels/packed_weight.h"

namespace colugo::kernels {

// out[k_count][16] = columns 0..15 of the panel at k = k_begin + 0..k_count, without alpha and block_scales; nvfp4 is
// code x scale, exact in f32. k_begin is a multiple of 64, k_count of 2 (nvfp4: of 16). e4m3 has no NaN here: see
// Vec::load_e4m3.
template <class V>
void unpack_panel(float* out, WeightFormat format, const std::byte* panel, int k_begin, int k_count);

}  // namespace colugo::kernels

#include "kernels/generic/unpack_panel.inl"
