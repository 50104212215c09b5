// Attention over int8 pages (attention_int8.h) for the tiers with VNNI, four products a dword in one instruction.
#pragma once

#include "kernels/generic/intrinsics_avx512.h"

#include "kernels/generic/attention_int8.h"
#include "kernels/generic/row_bases.h"
#include "kernels/generic/row_groups.h"

namespace colugo::kernels {

template <class V>
class VnniAttention {
 public:
    static void attention_pages(const AttentionRows& rows, const AttentionPages& pages, std::byte* scratch_bytes) {
        Scratch& scratch = *reinterpret_cast<Scratch*>(scratch_bytes);
        RowGroup::for_each(rows.rows, [&](auto count, int first) {
            for (int page = 0; page < pages.pages; ++page) {
                score<decltype(count)::value>(rows, pages.keys[page], first, page * kPage, scratch);
            }
        });
        weigh_int8<V>(rows, pages, scratch.weights, [&](int row, int column, V weight) {
            const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(weight.v));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(scratch.codes[row] + column), bytes);
        });
        RowGroup::for_each(rows.rows, [&](auto count, int first) {
            int column = 0;
            for (; column + 2 * kPanel <= rows.head_dim; column += 2 * kPanel) {
                add_values<decltype(count)::value, 2>(rows, pages, first, column, scratch);
            }
            if (column < rows.head_dim) add_values<decltype(count)::value, 1>(rows, pages, first, column, scratch);
        });
    }

 private:
    using RowGroup = RowGroups<12, 8, 6, 4, 3, 2, 1>;
    static constexpr int kQuadBytes = kPanel * 4;

    struct Scratch {
        Int8Weights weights;
        uint8_t codes[kMaxAttentionRows][kStepColumns];  // of the weights
    };
    static_assert(sizeof(Scratch) <= kAttentionScratchBytes);

    template <int kRows, int kPanels>
    struct Sums {
        __m512i at[kRows][kPanels];

        void clear() {
            __m512i zero = _mm512_setzero_si512();

            COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
                COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) at[row][p] = zero;
            }
        }
        template <bool kSignedRows>
        void add(int row, int panel, __m512i column, __m512i factors) {
            if constexpr (kSignedRows) {
                at[row][panel] = _mm512_dpbusd_epi32(at[row][panel], column, factors);
            } else {
                at[row][panel] = _mm512_dpbusd_epi32(at[row][panel], factors, column);
            }
            COLUGO_PIN(at[row][panel]);
        }
    };

    // finish(row, panel, sums of 16 columns) of kRows rows of bytes times kPanels panels of `quads` four k each, of
    // `count` tiles in turn. Of the two sides the multiplier takes one unsigned: the rows, or, where these are signed,
    // the panels with 128 added.
    template <bool kSignedRows, int kRows, int kPanels, class Finish>
    [[gnu::noinline]] static void multiply(const std::byte* a, size_t lda, const std::byte* const* tiles, int count,
                                           int quads, const Finish& finish) {
        const size_t panel_bytes = static_cast<size_t>(quads) * kQuadBytes;
        const __m512i flip = kSignedRows ? _mm512_set1_epi8(static_cast<char>(0x80)) : _mm512_setzero_si512();
        Sums<kRows, kPanels> sums;
        sums.clear();
        RowBases<std::byte, kRows> rows(a, static_cast<ptrdiff_t>(lda));
        for (int tile = 0; tile < count; ++tile) {
            const std::byte* panels = tiles[tile];
            for (int quad = 0; quad < quads; ++quad, panels += kQuadBytes, rows.advance(4)) {
                __m512i columns[kPanels];
                COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) {
                    columns[p] = _mm512_loadu_si512(panels + static_cast<size_t>(p) * panel_bytes);
                    if (kSignedRows) columns[p] = _mm512_xor_si512(columns[p], flip);
                }
                COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
                    int32_t dword;
                    __builtin_memcpy(&dword, rows.row(row), sizeof dword);
                    const __m512i factors = _mm512_set1_epi32(dword);
                    COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) {
                        sums.template add<kSignedRows>(row, p, columns[p], factors);
                    }
                }
            }
        }
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) finish(row, p, sums.at[row][p]);
        }
    }

    // Of the page whose first column is `column`.
    template <int kRows>
    static void score(const AttentionRows& rows, const std::byte* keys, int first, int column, Scratch& scratch) {
        const size_t row_bytes = activation_row_bytes<V>(ActivationFormat::int8, rows.head_dim);
        const std::byte* queries = rows.queries + static_cast<size_t>(first) * row_bytes;
        const float* key_scales = int8_scales<V>(keys, rows.head_dim);
        multiply<true, kRows, kPage / kPanel>(
            queries, row_bytes, &keys, 1, rows.head_dim / 4, [&](int row, int p, __m512i sum) {
                const Int8RowEnd& end = int8_row_end<V>(queries + static_cast<size_t>(row) * row_bytes, rows.head_dim);
                const V dots{_mm512_cvtepi32_ps(_mm512_add_epi32(sum, _mm512_set1_epi32(end.offset)))};
                (dots * V::load(key_scales + p * kPanel) * V::set(end.scale))
                    .store(scratch.weights.scores[first + row] + column + p * kPanel);
            });
    }

    // Columns column .. column + 16 kPanels of the outputs.
    template <int kRows, int kPanels>
    static void add_values(const AttentionRows& rows, const AttentionPages& pages, int first, int column,
                           const Scratch& scratch) {
        const auto* codes = reinterpret_cast<const std::byte*>(scratch.codes[first]);
        const std::byte* tiles[kMaxPagesPerStep];
        for (int page = 0; page < pages.pages; ++page) {
            tiles[page] = pages.values[page] + static_cast<size_t>(column) * kPage;
        }
        float* out = rows.out + static_cast<int64_t>(first) * rows.head_dim + column;
        multiply<false, kRows, kPanels>(
            codes, kStepColumns, tiles, pages.pages, kPage / 4, [&](int row, int p, __m512i sum) {
                float* at = out + row * rows.head_dim + p * kPanel;
                V::fma(V{_mm512_cvtepi32_ps(sum)}, V::set(scratch.weights.units[first + row]), V::load(at)).store(at);
            });
    }
};

}  // namespace colugo::kernels
