// An int8 tile: 32 x head_dim s8 in the panel layout with four k to a column, then the scales of the 32 positions.
#pragma once

#include "kernels/kernel_table.h"

namespace colugo::kernels {

// V only names the tier: one tier's code must not be linked into another's.
template <class V>
float* int8_scales(std::byte* tile, int head_dim) {
    return reinterpret_cast<float*>(tile + static_cast<size_t>(kPage) * static_cast<size_t>(head_dim));
}
template <class V>
const float* int8_scales(const std::byte* tile, int head_dim) {
    return int8_scales<V>(const_cast<std::byte*>(tile), head_dim);
}

}  // namespace colugo::kernels
