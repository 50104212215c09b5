// matmul_codes for the tiers with VNNI: 16 columns, sums in 32 bits.
#pragma once

#include "kernels/generic/intrinsics_avx512.h"

#include "kernels/generic/prepare_activation.h"
#include "kernels/generic/row_groups.h"
#include "kernels/generic/unpack_panel.h"
#include "kernels/generic/unroll.h"
#include "kernels/generic/vec_avx512.h"

namespace colugo::kernels {

template <class Vec>
struct VnniBlocks {
    // The columns' scales / 256 (Vec::load_e4m3 without its multiplication; kFactor has it).
    static Vec load_scales(const std::byte* unit, int block) {
        const auto* scales = reinterpret_cast<const __m128i*>(unit + kNvfp4ScaleOffset + block * kPanel);
        const __m256i codes = _mm256_cvtepu8_epi16(_mm_loadu_si128(scales));
        return {_mm512_cvtph_ps(_mm256_slli_epi16(codes, 7))};
    }

    // Dword `group` of the 16 columns.
    static __m512i load_codes(const std::byte* unit, int group) {
        return _mm512_loadu_si512(unit + group * kPanel * 4);
    }

    static __m512i broadcast_dword(const void* p) {
        int32_t dword;
        __builtin_memcpy(&dword, p, sizeof dword);
        return _mm512_set1_epi32(dword);
    }

    // sum[row] += block sum x row scale x column scale.
    static void fold(Vec& sum, __m512i dot, float row_scale, Vec scale) {
        sum = Vec::fma(Vec{_mm512_cvtepi32_ps(dot)} * Vec::set(row_scale), scale, sum);
    }
};

// nvfp4 x nvfp4. The byte multiplier wants one unsigned side: doubled weight codes plus 12, and the row's offset takes
// 12 x the sum of its codes off again.
template <class Vec>
struct VnniW4A4Product {
    struct Weights {
        __m512i codes[4];  // bytes: k = 0, 4, 1, 5 of the block's first group, then 2, 6, 3, 7; the same of its second
        Vec scale;
    };
    using RowUnit = Nvfp4RowUnit;
    using Rows = RowGroups<12, 8, 6, 4, 3, 2, 1>;
    static constexpr int kPieceUnits = 8;
    static constexpr float kFactor = 0.25f * 256.0f;

    static Weights load(const std::byte* unit, int block, int) {
        const __m512i table =
            _mm512_broadcast_i32x4(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
        const __m512i nibble = _mm512_set1_epi8(0x0f);
        Weights out;
        COLUGO_UNROLL for (int group = 0; group < 2; ++group) {
            const __m512i codes = VnniBlocks<Vec>::load_codes(unit, 2 * block + group);
            out.codes[2 * group] = _mm512_shuffle_epi8(table, _mm512_and_si512(codes, nibble));
            out.codes[2 * group + 1] =
                _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi32(codes, 4), nibble));
        }
        out.scale = VnniBlocks<Vec>::load_scales(unit, block);
        return out;
    }

    template <int kRows, int kVectors>
    static void multiply(Vec (&sum)[kRows][kVectors], const std::byte* rows, size_t row_bytes, int block,
                         const Weights* weights) {
        static_assert(kVectors == 1);
        __m512i dots[kRows];
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            dots[row] = _mm512_set1_epi32(row_unit(rows, row_bytes, row).offsets[block]);
        }
        COLUGO_UNROLL for (int i = 0; i < 4; ++i) {
            COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
                const int8_t* codes = row_unit(rows, row_bytes, row).codes + block * 16 + 4 * i;
                dots[row] = _mm512_dpbusd_epi32(dots[row], weights->codes[i], VnniBlocks<Vec>::broadcast_dword(codes));
            }
        }
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            VnniBlocks<Vec>::fold(sum[row][0], dots[row], row_unit(rows, row_bytes, row).scales[block], weights->scale);
        }
    }

 private:
    static const RowUnit& row_unit(const std::byte* rows, size_t row_bytes, int row) {
        return *reinterpret_cast<const RowUnit*>(rows + static_cast<size_t>(row) * row_bytes);
    }
};

// nvfp4 x bf16_block16, words by words. A sum is at most 12 x 32640 x 16 < 2^24, so its conversion is exact.
template <class Vec>
struct VnniBlock16Product {
    struct Weights {
        __m512i pairs[8];  // doubled codes of neighbouring k in the two words
        Vec scale;
    };
    using RowUnit = Block16RowUnit;
    using Rows = RowGroups<8, 6, 4, 3, 2, 1>;
    static constexpr int kPieceUnits = 4;
    static constexpr float kFactor = 0.5f * 256.0f;

    static Weights load(const std::byte* unit, int block, int) {
        // The permute looks at five bits of an index, the fifth of which is the next code's: the table is there twice.
        const __m512i table =
            _mm512_broadcast_i64x4(_mm256_setr_epi16(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));
        Weights out;
        COLUGO_UNROLL for (int group = 0; group < 2; ++group) {
            __m512i codes = VnniBlocks<Vec>::load_codes(unit, 2 * block + group);
            COLUGO_UNROLL for (int i = 0; i < 4; ++i, codes = _mm512_srli_epi32(codes, 4)) {
                out.pairs[4 * group + i] = _mm512_permutexvar_epi16(codes, table);
            }
        }
        out.scale = VnniBlocks<Vec>::load_scales(unit, block);
        return out;
    }

    template <int kRows, int kVectors>
    static void multiply(Vec (&sum)[kRows][kVectors], const std::byte* rows, size_t row_bytes, int block,
                         const Weights* weights) {
        static_assert(kVectors == 1);
        __m512i dots[kRows];
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) dots[row] = _mm512_setzero_si512();
        COLUGO_UNROLL for (int i = 0; i < 8; ++i) {
            COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
                const int16_t* values = row_unit(rows, row_bytes, row).values + block * 16 + 2 * i;
                dots[row] = _mm512_dpwssd_epi32(dots[row], weights->pairs[i], VnniBlocks<Vec>::broadcast_dword(values));
            }
        }
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            VnniBlocks<Vec>::fold(sum[row][0], dots[row], row_unit(rows, row_bytes, row).units[block], weights->scale);
        }
    }

 private:
    static const RowUnit& row_unit(const std::byte* rows, size_t row_bytes, int row) {
        return *reinterpret_cast<const RowUnit*>(rows + static_cast<size_t>(row) * row_bytes);
    }
};

}  // namespace colugo::kernels
