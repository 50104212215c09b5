// Writing one position of one head into its key and value tiles (panel layout, packed_weight.h), for every tier whose
// tiles have that layout. V only names the tier: one tier's code must not be linked into another's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/generic/int8_tile.h"
#include "kernels/generic/prepare_activation.h"
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

// The stored value at matrix row `row` and depth `k` of a tile with `depth` k to a panel. s8 has four k to a column,
// f32 one, the other types two.
template <class V, class T>
T* tile_element(std::byte* tile, int row, int k, int depth) {
    constexpr int kGroup = std::is_same_v<T, int8_t> ? 4 : std::is_same_v<T, float> ? 1 : 2;
    T* panel = reinterpret_cast<T*>(tile) + row / kPanel * depth * kPanel;
    return panel + (k / kGroup * kPanel + row % kPanel) * kGroup + k % kGroup;
}

// codes[i] = round(x[i] / scale) for i < n, a multiple of 16; returns the scale. What is no number is 0, and magnitudes
// end at 2^100: with a scale that is not finite a column would be unreadable for every row that multiplies it by p = 0.
template <class V>
float int8_codes(int8_t* codes, const float* x, int n) {
    float values[kMaxHeadDim];
    for (int i = 0; i < n; ++i) {
        const float number = x[i] == x[i] ? x[i] : 0.0f;
        const float low = number < 0x1p100f ? number : 0x1p100f;
        values[i] = low > -0x1p100f ? low : -0x1p100f;
    }
    const float most = max_magnitude<V>(values, n);
    const bool any = most >= kLeastInt8Magnitude;
    const float scale = any ? most / 127.0f : 0.0f;
    const V divisor = V::set(any ? scale : 1.0f);
    for (int i = 0; i < n; i += V::kWidth) {
        V::round(V::load(values + i) / divisor).store(values + i);
    }
    for (int i = 0; i < n; ++i) codes[i] = static_cast<int8_t>(values[i]);
    return scale;
}

template <class V>
void store_kv_int8(std::byte* keys, std::byte* values, int column, const float* key, const float* value, int head_dim) {
    int8_t codes[kMaxHeadDim];
    int8_scales<V>(keys, head_dim)[column] = int8_codes<V>(codes, key, head_dim);
    for (int i = 0; i < head_dim; ++i) *tile_element<V, int8_t>(keys, column, i, head_dim) = codes[i];
    int8_scales<V>(values, head_dim)[column] = int8_codes<V>(codes, value, head_dim);
    for (int i = 0; i < head_dim; ++i) *tile_element<V, int8_t>(values, i, column, kPage) = codes[i];
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
        case KvType::int8:
            return store_kv_int8<V>(keys, values, column, key, value, head_dim);
    }
}

}  // namespace colugo::kernels
