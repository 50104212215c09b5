// matmul_codes for the avx2 tier: eight columns, with the byte and word multiply-adds.
#pragma once

#include "kernels/generic/prepare_activation.h"
#include "kernels/generic/row_groups.h"
#include "kernels/generic/unpack_panel.h"
#include "kernels/generic/unroll.h"
#include "kernels/generic/vec_avx2.h"

namespace colugo::kernels::avx2 {

// Eight columns' scales / 256 (Vec::from_e4m3_half without its multiplication; kFactor has it).
inline Vec load_scales(const std::byte* unit, int block, int column) {
    const auto* scales = reinterpret_cast<const __m128i*>(unit + kNvfp4ScaleOffset + block * kPanel + column);
    const __m128i codes = _mm_cvtepu8_epi16(_mm_loadl_epi64(scales));
    return {_mm256_cvtph_ps(_mm_slli_epi16(codes, 7))};
}

// A block's codes through `table`: out[i] is, for eight columns from `column` on, i = 0, 2 the low nibbles of its two
// groups' dwords (k = 0, 4, 1, 5 of the group), i = 1, 3 the high ones (k = 2, 6, 3, 7).
inline void load_codes(const std::byte* unit, int block, int column, __m256i table, __m256i (&out)[4]) {
    const __m256i nibble = _mm256_set1_epi8(0x0f);
    for (int group = 0; group < 2; ++group) {
        const __m256i codes =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(unit + ((2 * block + group) * kPanel + column) * 4));
        out[2 * group] = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, nibble));
        out[2 * group + 1] = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), nibble));
    }
}

inline __m256i broadcast_dword(const void* p) {
    int32_t dword;
    __builtin_memcpy(&dword, p, sizeof dword);
    return _mm256_set1_epi32(dword);
}

// Keeps a running sum where it is written: left alone, the compiler turns the chains of integer additions into trees,
// whose many terms at once do not fit the registers.
inline void keep_order(__m256i& sum) {
    asm("" : "+x"(sum));
}

template <class RowUnit, int kRows>
void row_units(const RowUnit* (&units)[kRows], const std::byte* rows, size_t row_bytes) {
    for (int row = 0; row < kRows; ++row) {
        units[row] = reinterpret_cast<const RowUnit*>(rows + static_cast<size_t>(row) * row_bytes);
    }
}

// nvfp4 x nvfp4. The byte multiplier wants one unsigned side: doubled weight codes plus 12, and the row's offset takes
// 12 x the sum of its codes off again. Words hold at most 4 x 2 x 24 x 12 + 6 x 16 x 12 = 3456.
struct W4A4Product {
    struct Weights {
        __m256i codes[4];
        Vec scale;
    };
    using RowUnit = Nvfp4RowUnit;
    using Rows = RowGroups<4, 3, 2, 1>;
    static constexpr int kPieceUnits = 8;
    static constexpr float kFactor = 0.25f * 256.0f;

    static Weights load(const std::byte* unit, int block, int column) {
        const __m256i table =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
        Weights out;
        load_codes(unit, block, column, table, out.codes);
        out.scale = load_scales(unit, block, column);
        return out;
    }

    template <int kRows, int kVectors>
    static void multiply(Vec (&sum)[kRows][kVectors], const std::byte* rows, size_t row_bytes, int block,
                         const Weights* weights) {
        const RowUnit* units[kRows];
        row_units(units, rows, row_bytes);
        __m256i dots[kRows][kVectors];
        for (int row = 0; row < kRows; ++row) {
            for (int v = 0; v < kVectors; ++v) dots[row][v] = _mm256_set1_epi32(units[row]->offsets[block]);
        }
        COLUGO_UNROLL for (int i = 0; i < 4; ++i) {
            COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
                const __m256i values = broadcast_dword(units[row]->codes + block * 16 + 4 * i);
                COLUGO_UNROLL for (int v = 0; v < kVectors; ++v) {
                    const __m256i product = _mm256_maddubs_epi16(weights[v].codes[i], values);
                    dots[row][v] = _mm256_add_epi16(dots[row][v], product);
                    keep_order(dots[row][v]);
                }
            }
        }
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            const Vec scale = Vec::set(units[row]->scales[block]);
            COLUGO_UNROLL for (int v = 0; v < kVectors; ++v) {
                const __m256i dot = _mm256_madd_epi16(dots[row][v], _mm256_set1_epi16(1));
                const Vec scaled = Vec{_mm256_cvtepi32_ps(dot)} * scale;
                sum[row][v] = Vec::fma(scaled, weights[v].scale, sum[row][v]);
            }
        }
    }
};

// nvfp4 x bf16_block16. Doubled weight codes sit in the upper byte of a word (x 256); a block's sum is at most
// 12 x 256 x 32640 x 16 < 2^31 and a multiple of 256, so its conversion is exact.
struct Block16Product {
    struct Weights {
        __m256i pairs[8];  // neighbouring k in the two words
        Vec scale;
    };
    using RowUnit = Block16RowUnit;
    using Rows = RowGroups<4, 3, 2, 1>;
    static constexpr int kPieceUnits = 4;
    static constexpr float kFactor = 0.5f;

    static Weights load(const std::byte* unit, int block, int column) {
        const __m256i table =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));
        const __m256i upper = _mm256_set1_epi16(static_cast<int16_t>(0xff00));
        __m256i codes[4];
        load_codes(unit, block, column, table, codes);
        Weights out;
        for (int i = 0; i < 4; ++i) {
            const int pair = i / 2 * 4 + i % 2;
            out.pairs[pair] = _mm256_slli_epi16(codes[i], 8);
            out.pairs[pair + 2] = _mm256_and_si256(codes[i], upper);
        }
        out.scale = load_scales(unit, block, column);
        return out;
    }

    template <int kRows, int kVectors>
    static void multiply(Vec (&sum)[kRows][kVectors], const std::byte* rows, size_t row_bytes, int block,
                         const Weights* weights) {
        const RowUnit* units[kRows];
        row_units(units, rows, row_bytes);
        __m256i dots[kRows][kVectors];
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            const __m256i values = broadcast_dword(units[row]->values + block * 16);
            for (int v = 0; v < kVectors; ++v) dots[row][v] = _mm256_madd_epi16(weights[v].pairs[0], values);
        }
        COLUGO_UNROLL for (int i = 1; i < 8; ++i) {
            COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
                const __m256i values = broadcast_dword(units[row]->values + block * 16 + 2 * i);
                COLUGO_UNROLL for (int v = 0; v < kVectors; ++v) {
                    const __m256i product = _mm256_madd_epi16(weights[v].pairs[i], values);
                    dots[row][v] = _mm256_add_epi32(dots[row][v], product);
                    keep_order(dots[row][v]);
                }
            }
        }
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            const Vec unit = Vec::set(units[row]->units[block]);
            COLUGO_UNROLL for (int v = 0; v < kVectors; ++v) {
                const Vec scaled = Vec{_mm256_cvtepi32_ps(dots[row][v])} * unit;
                sum[row][v] = Vec::fma(scaled, weights[v].scale, sum[row][v]);
            }
        }
    }
};

}  // namespace colugo::kernels::avx2
