// Packed panels (packed_weight.h) as bf16 pairs, [k / 2][16 columns][2], for the tiers that multiply in bf16. All
// values of e4m3, and of e2m1 x e4m3, are exact.
#pragma once

#include "kernels/generic/intrinsics_avx512.h"
#include "kernels/generic/unpack_panel.h"
#include "kernels/generic/unroll.h"
#include "kernels/packed_weight.h"

namespace colugo::kernels {

inline constexpr int kPairBytes = kPanel * 4;  // two k of 16 columns

// V only names the tier: one tier's code must not be linked into another's.
template <class V>
struct Bf16Panels {
    // 16 columns at two k of an fp8 panel. A word seee emmm becomes seee emmm 0000: its lower byte is that of the bf16
    // already, and of the upper one the permute makes sign and exponent. Below the smallest exponent m x 2^-9 is looked
    // up; the sign comes back last.
    static __m512i load_e4m3(const std::byte* pairs) {
        const __m512i upper_byte = _mm512_broadcast_i32x4(
            _mm_setr_epi8(60, 61, 62, 63, 64, 65, 66, 67, -68, -67, -66, -65, -64, -63, -62, -61));
        const __m512i subnormal = _mm512_broadcast_i64x4(
            _mm256_setr_epi16(0, 0x3b00, 0x3b80, 0x3bc0, 0x3c00, 0x3c20, 0x3c40, 0x3c60, 0, 0, 0, 0, 0, 0, 0, 0));
        constexpr __mmask64 kUpper = 0xaaaaaaaaaaaaaaaau;
        const __m512i code = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(pairs)));
        const __m512i shifted = _mm512_slli_epi16(code, 4);
        const __m512i normal = _mm512_mask_shuffle_epi8(shifted, kUpper, upper_byte, shifted);
        const __mmask32 is_subnormal = _mm512_testn_epi16_mask(code, _mm512_set1_epi16(0x78));
        const __m512i value = _mm512_mask_permutexvar_epi16(normal, is_subnormal, code, subnormal);
        const __m512i sign = _mm512_slli_epi16(code, 8);
        return _mm512_ternarylogic_epi32(value, sign, _mm512_set1_epi16(static_cast<int16_t>(0x8000)), kOrAnd);
    }

    // What the products of a block's codes with its scales are put together from. As bits, a bf16 with few enough
    // significant ones is a number in steps of 1/8 octave: e4m3 scale s has 16 u + 15104 (u in bytes, 0 for 2^-9), and
    // 1.5 s is 4 d further up, d by the three bits of s. The other factors are powers of two.
    struct Scales {
        __m512i steps;      // [16 columns][2] bytes u, d
        __mmask32 nonzero;  // of words
    };
    static Scales load_scales(const std::byte* unit, int block) {
        const auto* codes = reinterpret_cast<const __m128i*>(unit + kNvfp4ScaleOffset + block * kPanel);
        const __m512i four_times = _mm512_setr_epi32(0, 0x01010101, 0x02020202, 0x03030303, 0x04040404, 0x05050505,
                                                     0x06060606, 0x07070707, 0x08080808, 0x09090909, 0x0a0a0a0a,
                                                     0x0b0b0b0b, 0x0c0c0c0c, 0x0d0d0d0d, 0x0e0e0e0e, 0x0f0f0f0f);
        const __m512i code = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(codes)), four_times);
        // u and d by the three low bits: u from the first half of a table, d from the second.
        const __m512i low_bits =
            _mm512_ternarylogic_epi32(_mm512_set1_epi16(0x0800), code, _mm512_set1_epi16(0x0707), kOrAnd);
        const __m512i normal =
            _mm512_broadcast_i32x4(_mm_setr_epi8(16, 17, 18, 19, 20, 21, 22, 23, 16, 18, 20, 21, 20, 19, 18, 17));
        const __m512i subnormal =
            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 8, 12, 16, 18, 20, 22, 16, 16, 16, 20, 16, 20, 20, 18));
        const __mmask64 is_subnormal = _mm512_testn_epi8_mask(code, _mm512_set1_epi8(0x78));
        __m512i steps = _mm512_shuffle_epi8(normal, low_bits);
        steps = _mm512_mask_shuffle_epi8(steps, is_subnormal, subnormal, low_bits);
        const __m512i exponent = _mm512_and_si512(code, _mm512_set1_epi16(0x0078));
        return {_mm512_add_epi16(steps, exponent), _mm512_test_epi16_mask(code, code)};
    }

    // 16 k of an nvfp4 panel's unit: pairs in k order.
    static void load_nvfp4(const std::byte* unit, int block, __m512i (&out)[8]) {
        // Of code e2m1 in a word: what u and d are multiplied by, and what comes on top. The permute looks at five bits
        // of an index, the fifth of which is the next code's: the tables are there twice.
        constexpr int16_t kOnes = 16, kOneAndAHalf = 16 + 4 * 256, kStep = 15104, kMinus = static_cast<int16_t>(0x8000);
        const __m512i factors = _mm512_broadcast_i64x4(
            _mm256_setr_epi16(0, kOnes, kOnes, kOneAndAHalf, kOnes, kOneAndAHalf, kOnes, kOneAndAHalf, 0, kOnes, kOnes,
                              kOneAndAHalf, kOnes, kOneAndAHalf, kOnes, kOneAndAHalf));
        const __m512i terms = _mm512_broadcast_i64x4(
            _mm256_setr_epi16(0, kStep - 128, kStep, kStep, kStep + 128, kStep + 128, kStep + 256, kStep + 256, kMinus,
                              kMinus + kStep - 128, kMinus + kStep, kMinus + kStep, kMinus + kStep + 128,
                              kMinus + kStep + 128, kMinus + kStep + 256, kMinus + kStep + 256));
        const Scales scales = load_scales(unit, block);
        COLUGO_UNROLL for (int group = 0; group < 2; ++group) {
            __m512i codes = _mm512_loadu_si512(unit + (2 * block + group) * kPanel * 4);
            COLUGO_UNROLL for (int i = 0; i < 4; ++i, codes = _mm512_srli_epi32(codes, 4)) {
                const __m512i scale = _mm512_maddubs_epi16(scales.steps, _mm512_permutexvar_epi16(codes, factors));
                out[4 * group + i] =
                    _mm512_maskz_add_epi16(scales.nonzero, scale, _mm512_permutexvar_epi16(codes, terms));
            }
        }
    }

    // out[k / 2][16][2] = k values, a multiple of 64, of a panel from the begin of a unit on.
    static void unpack(std::byte* out, WeightFormat format, const std::byte* data, int k) {
        if (format == WeightFormat::nvfp4) {
            for (int unit = 0; unit < k / kUnitK; ++unit, data += kNvfp4UnitBytes) {
                for (int block = 0; block < kUnitK / 16; ++block, out += 8 * kPairBytes) {
                    __m512i pairs[8];
                    load_nvfp4(data, block, pairs);
                    COLUGO_UNROLL for (int i = 0; i < 8; ++i) _mm512_storeu_si512(out + i * kPairBytes, pairs[i]);
                }
            }
        } else {
            for (int pair = 0; pair < k / 2; ++pair, data += kPairBytes / 2, out += kPairBytes) {
                _mm512_storeu_si512(out, load_e4m3(data));
            }
        }
    }

 private:
    static constexpr int kOrAnd = 0xf8;  // a | (b & c)
};

}  // namespace colugo::kernels
