// Prepared activation rows of the tiers that multiply in bf16. A row is
//   bf16, fp8      [padded k] bf16: the rounded values; fp8 without input_scale
//   nvfp4          [padded k] bf16: code x block scale
//   fp8_group128   [padded k] bf16, then [ceil(k / 128)] f32 group scales
// e4m3 and e2m1 x e4m3 are exact in bf16.
#pragma once

#include "kernels/generic/prepare_activation.h"

namespace colugo::kernels {

template <class V>
size_t bf16_row_bytes(ActivationFormat format, int k) {
    size_t bytes = padded_units<V>(k) * kUnitK * sizeof(uint16_t);
    if (format == ActivationFormat::fp8_group128) bytes += group_count<V>(k) * sizeof(float);
    // An odd number of lines: the rows a multiplier reads side by side must not fall on the same sets of the cache.
    return (bytes + 63) / 64 * 64 | 64;
}

template <class V>
const float* bf16_group_scales(const std::byte* row, int k) {
    return reinterpret_cast<const float*>(row + padded_units<V>(k) * kUnitK * sizeof(uint16_t));
}

// out[i] = round(x[i]), which is exact in bf16, for i < n; zeros up to a multiple of V::kWidth where round keeps zero.
template <class V, class Round>
void map_bf16_row(uint16_t* out, const float* x, int n, Round round) {
    int i = 0;
    for (; i + V::kWidth <= n; i += V::kWidth) round(V::load(x + i)).store_bf16(out + i);
    if (i < n) round(V::load_partial(x + i, n - i)).store_bf16(out + i);
}

template <class V>
void prepare_bf16_group128(std::byte* out, const float* x, int k) {
    auto* values = reinterpret_cast<uint16_t*>(out);
    auto* scales = reinterpret_cast<float*>(out + padded_units<V>(k) * kUnitK * sizeof(uint16_t));
    for (int begin = 0; begin < k; begin += kGroupK) {
        const int n = k - begin < kGroupK ? k - begin : kGroupK;
        const float most = max_magnitude<V>(x + begin, n);
        const float scale = most == 0.0f ? 1.0f : most / 448.0f;
        scales[begin / kGroupK] = scale;
        map_bf16_row<V>(values + begin, x + begin, n,
                        [scale](V value) { return V::round_e4m3(value / V::set(scale)); });
    }
}

template <class V>
void prepare_bf16_nvfp4_blocks(uint16_t* out, int blocks, float input_scale, const float* x) {
    quantize_nvfp4_blocks<V>(blocks, input_scale, x, [out](int block, float scale, V(&codes)[16 / V::kWidth]) {
        for (int i = 0; i < 16; i += V::kWidth) (codes[i / V::kWidth] * V::set(scale)).store_bf16(out + block * 16 + i);
    });
}

template <class V>
void prepare_bf16_nvfp4(uint16_t* out, float input_scale, const float* x, int k) {
    constexpr int kMost = 64 * 16;
    int begin = 0;
    for (; begin + 16 <= k; begin += kMost) {
        const int blocks = (k - begin < kMost ? k - begin : kMost) / 16;
        prepare_bf16_nvfp4_blocks<V>(out + begin, blocks, input_scale, x + begin);
    }
    begin = k / 16 * 16;
    if (begin == k) return;
    float tail[16] = {};
    for (int i = begin; i < k; ++i) tail[i - begin] = x[i];
    prepare_bf16_nvfp4_blocks<V>(out + begin, 1, input_scale, tail);
}

template <class V>
void prepare_bf16_row(std::byte* out, ActivationFormat format, float input_scale, const float* x, int k) {
    auto* values = reinterpret_cast<uint16_t*>(out);
    switch (format) {
        case ActivationFormat::fp8:
            map_bf16_row<V>(values, x, k, [=](V value) { return V::round_e4m3(value / V::set(input_scale)); });
            break;
        case ActivationFormat::fp8_group128:
            prepare_bf16_group128<V>(out, x, k);
            break;
        case ActivationFormat::nvfp4:
            prepare_bf16_nvfp4<V>(values, input_scale, x, k);
            break;
        default:
            map_bf16_row<V>(values, x, k, [](V value) { return V::round_bf16(value); });
            break;
    }
    const int padded = static_cast<int>(padded_units<V>(k)) * kUnitK;
    for (int i = k; i < padded; ++i) values[i] = 0;
}

template <class V>
void prepare_bf16_rows(std::byte* out, ActivationFormat format, float input_scale, const float* x, int64_t ldx,
                       int rows, int k) {
    const size_t row_bytes = bf16_row_bytes<V>(format, k);
    for (int row = 0; row < rows; ++row, out += row_bytes, x += ldx) {
        prepare_bf16_row<V>(out, format, input_scale, x, k);
    }
}

template <class V>
float bf16_row_value(const std::byte* row, ActivationFormat format, int k, int i) {
    const uint32_t bits = reinterpret_cast<const uint16_t*>(row)[i];
    const float value = __builtin_bit_cast(float, bits << 16);
    return format == ActivationFormat::fp8_group128 ? value * bf16_group_scales<V>(row, k)[i / kGroupK] : value;
}

}  // namespace colugo::kernels
