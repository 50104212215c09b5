// A weight matrix W [n, k] as the kernels read it: cut into panels of 16 output columns, K padded to a multiple of 64,
// each panel one contiguous stream, so that a pass over the weights reads memory strictly forward.
//
// Layout of one panel (column c = 0..15 of the panel, absolute column 16 * panel + c; columns past n are zero):
//   f32   [k][16] f32
//   bf16  [k / 2][16][2] bf16        a dword holds two neighbouring k of one column
//   fp8   [k / 2][16][2] e4m3
//   nvfp4 [k / 64] x { codes [8 groups][16] u32, scales [4 blocks][16] e4m3 }: 576 bytes for 16 columns x 64 k.
//         A dword holds the 8 codes of one column and k = 8 * group .. + 7; nibble i (from the low end) is
//         k = 8 * group + kNibbleToK[i]. Masking 0x000f000f after a shift gives neighbouring k in the two words (bf16
//         multipliers); masking 0x0f0f0f0f gives four codes in four bytes (integer multipliers). Scales are not
//         negative.
// Key and value tiles of the attention cache use the f32, bf16 and fp8 layouts too: keys are a matrix [32 positions,
// head_dim], values one of [head_dim, 32 positions].
#pragma once

#include <cstddef>
#include <cstdint>

namespace colugo::kernels {

inline constexpr int kPanel = 16;
inline constexpr int kUnitK = 64;
inline constexpr int kNibbleToK[8] = {0, 2, 4, 6, 1, 3, 5, 7};
// The bytes a dword's masked nibbles give, the four low ones before the four high ones: byte i is k = kCodeOrder[i].
inline constexpr int kCodeOrder[8] = {0, 4, 1, 5, 2, 6, 3, 7};

// What a weight is stored as. fp8_block128 is fp8 with one f32 scale for each 128 x 128 block.
enum class WeightFormat : uint8_t { f32, bf16, fp8, fp8_block128, nvfp4 };

// What the other factor is turned into before it is multiplied.
//   f32, bf16   the value itself, or rounded to bf16
//   bf16_block16  rounded to bf16, then per row and block of 16 k to 16-bit multiples of a power of two: exact within a
//               factor 2^7 of the block's largest, else within 2^-15 of it. For nvfp4 weights: sums of a block are
//               exact integers, which the tiers without a bf16 multiplier do twice as fast as f32
//   fp8         e4m3(x / input_scale), saturating: a static scale for the tensor
//   fp8_group128  per row and group of 128 k: scale = amax / 448 (1 where amax is 0), e4m3(x / scale)
//   nvfp4       per row and block of 16 k (qwen35.md 7.3): e = e4m3(amax / 6 / input_scale), code = e2m1(x / (e *
//   input_scale))
//   int8        per row: scale = amax / 127, integer = round(x / scale). For queries of int8 keys; no weight takes it
enum class ActivationFormat : uint8_t { f32, bf16, bf16_block16, fp8, fp8_group128, nvfp4, int8 };

struct PackedWeight {
    const std::byte* data = nullptr;  // [num_panels()] panels, 64-byte aligned
    int n = 0;
    int k = 0;
    WeightFormat format = WeightFormat::f32;
    ActivationFormat activation = ActivationFormat::f32;
    float alpha = 1.0f;                   // multiplies the sum: weight scale x activation scale of the whole tensor
    float input_scale = 1.0f;             // static activation scale (fp8, nvfp4)
    const float* block_scales = nullptr;  // [ceil(n / 128), ceil(k / 128)] f32, fp8_block128 only

    int num_panels() const { return (n + kPanel - 1) / kPanel; }
    int padded_k() const { return (k + kUnitK - 1) / kUnitK * kUnitK; }
};

size_t packed_panel_bytes(WeightFormat format, int k);
size_t packed_bytes(WeightFormat format, int n, int k);

// One panel from rows [n_begin, n_begin + rows) of a checkpoint's row-major tensor; rows <= 16, missing ones are zero.
// Sources: f32 [rows, k] f32; bf16 [rows, k] bf16; fp8 [rows, k] e4m3.
void pack_panel(std::byte* panel, WeightFormat format, const std::byte* rows_begin, int rows, int k);
// nvfp4: codes [rows, k / 2] u8 (low nibble first), scales [rows, k / 16] e4m3, not negative. k is a multiple of 16.
void pack_panel_nvfp4(std::byte* panel, const std::byte* codes, const std::byte* scales, int rows, int k);

// Row n of a packed matrix as f32, without alpha and block_scales: the embedding lookup of tied checkpoints, and tests.
void unpack_row(float* out, const PackedWeight& weight, int n);

}  // namespace colugo::kernels
