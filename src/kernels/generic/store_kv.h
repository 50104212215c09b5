// Writing one position of one head into its key and value tiles (panel layout, packed_weight.h), for every tier whose
// tiles have that layout. V only names the tier: one tier's code must not be linked into another's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel_table.h"

namespace colugo::kernels {

// Nearest bf16, ties to even; NaN stays NaN.
template <class V>
uint16_t bf16_code(float x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Nearest e4m3, ties to even, saturating at +-448. NaN becomes 0: the code for NaN would make a page unreadable for
// every row that multiplies it by p = 0. Free of branches, so a loop over it is vectorised.
template <class V>
uint8_t e4m3_code(float x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t sign = bits >> 24 & 0x80u;
    uint32_t magnitude = bits & 0x7fffffffu;
    magnitude = magnitude > 0x7f800000u ? 0u : magnitude;
    magnitude = magnitude > 0x43e00000u ? 0x43e00000u : magnitude;  // 448
    // From 2^-6 on the 20 low mantissa bits are rounded away and the exponent bias goes from 127 to 7. Below, codes are
    // multiples of 2^-9, the spacing of floats at 2^14: the sum does the rounding.
    const uint32_t normal = ((magnitude + 0x7ffffu + (magnitude >> 20 & 1u)) >> 20) - (120u << 3);
    const float shifted = __builtin_bit_cast(float, magnitude) + 16384.0f;
    const uint32_t subnormal = __builtin_bit_cast(uint32_t, shifted) - 0x46800000u;
    return static_cast<uint8_t>(sign | (magnitude < 0x3c800000u ? subnormal : normal));
}

// The stored value at matrix row `row` and depth `k` of a tile with `depth` k to a panel. T has two k to a column, f32
// one.
template <class V, class T>
T* tile_element(std::byte* tile, int row, int k, int depth) {
    T* panel = reinterpret_cast<T*>(tile) + row / kPanel * depth * kPanel;
    if constexpr (sizeof(T) == sizeof(float)) return panel + k * kPanel + row % kPanel;
    return panel + (k / 2 * kPanel + row % kPanel) * 2 + k % 2;
}

template <class V, class T, class Encode>
void store_kv_as(std::byte* keys, std::byte* values, int column, int head_dim, Encode encode) {
    T key[kMaxHeadDim];
    T value[kMaxHeadDim];
    for (int i = 0; i < head_dim; ++i) encode(i, key[i], value[i]);
    for (int i = 0; i < head_dim; ++i) *tile_element<V, T>(keys, column, i, head_dim) = key[i];
    for (int i = 0; i < head_dim; ++i) *tile_element<V, T>(values, i, column, kPage) = value[i];
}

template <class V>
void store_kv(KvType type, std::byte* keys, std::byte* values, int column, const float* key, const float* value,
              int head_dim, float key_scale, float value_scale) {
    switch (type) {
        case KvType::f32:
            return store_kv_as<V, float>(keys, values, column, head_dim, [&](int i, float& k, float& v) {
                k = key[i];
                v = value[i];
            });
        case KvType::bf16:
            return store_kv_as<V, uint16_t>(keys, values, column, head_dim, [&](int i, uint16_t& k, uint16_t& v) {
                k = bf16_code<V>(key[i]);
                v = bf16_code<V>(value[i]);
            });
        case KvType::fp8:
            return store_kv_as<V, uint8_t>(keys, values, column, head_dim, [&](int i, uint8_t& k, uint8_t& v) {
                k = e4m3_code<V>(key[i] / key_scale);
                v = e4m3_code<V>(value[i] / value_scale);
            });
    }
}

}  // namespace colugo::kernels
