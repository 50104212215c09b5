// Prepared activation rows of the tiers that multiply in f32 and in 8- or 16-bit integers. A row is
//   f32, bf16, fp8   [padded k] f32: the rounded values; fp8 without input_scale
//   fp8_group128     [padded k] f32, then [ceil(k / 128)] f32 group scales
//   bf16_block16     [padded k / 64] x { [64] s16, [4 blocks] f32 units }
//   nvfp4            [padded k / 64] x { [64] s8 doubled e2m1 codes, [4 blocks] f32 scales, [4 blocks] s32 offsets }
//   int8             [padded k] s8 where V::kByteDots, else the same integers as f32; then Int8RowEnd
// The integer rows are interleaved by unit so that a row is one stream beside the panel's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_weight.h"

namespace colugo::kernels {

inline constexpr int kGroupK = 128;  // k to one scale of fp8_group128, and of fp8_block128

struct Nvfp4RowUnit {
    // Group by group of 8 k in the order of the panel's code bytes: kCodeOrder (packed_weight.h).
    int8_t codes[kUnitK];
    float scales[kUnitK / 16];
    // What the multiplier starts a block's sum from, Vec::code_offset: one that adds 12 to every doubled weight code,
    // to make it unsigned, takes 12 x the sum of the block's doubled codes off again.
    int32_t offsets[kUnitK / 16];
};

struct Block16RowUnit {
    int16_t values[kUnitK];
    float units[kUnitK / 16];
};

struct Int8RowEnd {
    float scale;
    // What the multiplier of bytes starts a sum from: with 128 added to each key, to make it unsigned, 128 x the sum of
    // the row's integers is too much.
    int32_t offset;
};

// Behind the integers of an int8 row of k.
template <class V>
const Int8RowEnd& int8_row_end(const std::byte* row, int k);

template <class V>
size_t activation_row_bytes(ActivationFormat format, int k);

template <class V>
void prepare_activation(std::byte* out, ActivationFormat format, float input_scale, const float* x, int64_t ldx,
                        int rows, int k);

template <class V>
float activation_value(const std::byte* row, ActivationFormat format, int k, int i);

}  // namespace colugo::kernels

#include "kernels/generic/prepare_activation.inl"
