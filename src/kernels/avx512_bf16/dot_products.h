// The multiplier of the avx512_bf16 tier: vdpbf16ps, which adds the products of two neighbouring k to each of 16 sums.
// A chain is one of them for each pair of k.
#pragma once

#include "kernels/avx512_bf16/vec.h"
#include "kernels/generic/bf16_panels.h"
#include "kernels/generic/matmul_bf16.h"
#include "kernels/generic/row_bases.h"
#include "kernels/generic/row_groups.h"

namespace colugo::kernels::avx512_bf16 {

using Panels = Bf16Panels<Vec>;

// 12 rows x 2 panels leave room for the panels' columns and a broadcast.
using Rows = RowGroups<12, 8, 6, 4, 3, 2, 1>;
// Rows that take nvfp4 apart as they multiply it; more share an unpacked piece. Eight pairs live beside the sums.
using FewRows = RowGroups<4, 3, 2, 1>;

struct Bf16Pairs {
    static constexpr size_t kBytes = kPairBytes;
    static __m512i load(const std::byte* pairs) { return _mm512_loadu_si512(pairs); }
};

struct Fp8Pairs {
    static constexpr size_t kBytes = kPairBytes / 2;
    static __m512i load(const std::byte* pairs) { return Panels::load_e4m3(pairs); }
};

// Panels that lie `stride` apart. ahead: how far before its use a byte is asked for; 0 where it is near anyway.
struct Source {
    const std::byte* panels;
    size_t stride;
    size_t ahead;
};

inline constexpr size_t kAhead = 4096;

template <int kRows, int kPanels>
struct Sums {
    __m512 at[kRows][kPanels];

    void load(const float* c, int64_t ldc, bool accumulate) {
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) {
                at[row][p] = accumulate ? _mm512_loadu_ps(c + row * ldc + p * kPanel) : _mm512_setzero_ps();
            }
        }
    }
    void store(float* c, int64_t ldc) const {
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) _mm512_storeu_ps(c + row * ldc + p * kPanel, at[row][p]);
        }
    }
    void add(int row, int panel, __m512i pairs, __m512i factors) {
        at[row][panel] = _mm512_dpbf16_ps(at[row][panel], (__m512bh)pairs, (__m512bh)factors);
        COLUGO_PIN(at[row][panel]);
    }
};

inline __m512i broadcast_pair(const std::byte* p) {
    int32_t dword;
    __builtin_memcpy(&dword, p, sizeof dword);
    return _mm512_set1_epi32(dword);
}

// c[kRows][kPanels][16] (+)= rows of bf16 times panels, `pairs` pairs of k. lda in bytes.
template <class Pairs, int kRows, int kPanels>
void multiply_pairs(float* c, int64_t ldc, const std::byte* a, size_t lda, const Source& source, int pairs,
                    bool accumulate) {
    Sums<kRows, kPanels> sums;
    sums.load(c, ldc, accumulate);
    RowBases<std::byte, kRows> rows(a, static_cast<ptrdiff_t>(lda));
    const std::byte* panel = source.panels;
    for (int pair = 0; pair < pairs; ++pair, panel += Pairs::kBytes, rows.advance(4)) {
        __m512i columns[kPanels];
        COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) {
            const std::byte* here = panel + static_cast<size_t>(p) * source.stride;
            __builtin_prefetch(here + source.ahead);
            columns[p] = Pairs::load(here);
        }
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            const __m512i factors = broadcast_pair(rows.row(row));
            COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) sums.add(row, p, columns[p], factors);
        }
    }
    sums.store(c, ldc);
}

// The same straight from nvfp4 units, block by block.
template <int kRows, int kPanels>
void multiply_nvfp4(float* c, int64_t ldc, const std::byte* a, size_t lda, const Source& source, int units,
                    bool accumulate) {
    constexpr int kBlocks = kUnitK / 16;
    Sums<kRows, kPanels> sums;
    sums.load(c, ldc, accumulate);
    RowBases<std::byte, kRows> rows(a, static_cast<ptrdiff_t>(lda));
    for (int unit = 0; unit < units; ++unit) {
        const std::byte* data = source.panels + static_cast<size_t>(unit) * kNvfp4UnitBytes;
        for (int p = 0; p < kPanels; ++p) {
            const std::byte* ahead = data + static_cast<size_t>(p) * source.stride + kAhead;
            for (int line = 0; line < kNvfp4UnitBytes; line += 64) __builtin_prefetch(ahead + line);
        }
        for (int block = 0; block < kBlocks; ++block, rows.advance(32)) {
            COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) {
                __m512i pairs[8];
                Panels::load_nvfp4(data + static_cast<size_t>(p) * source.stride, block, pairs);
                COLUGO_UNROLL for (int i = 0; i < 8; ++i) {
                    COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
                        sums.add(row, p, pairs[i], broadcast_pair(rows.row(row) + 4 * i));
                    }
                }
            }
        }
    }
    sums.store(c, ldc);
}

template <class Pairs, int kPanels>
void multiply_pair_rows(float* c, int64_t ldc, const std::byte* a, size_t lda, int rows, Source source, int k,
                        bool accumulate) {
    Rows::for_each(rows, [&](auto count, int row) {
        multiply_pairs<Pairs, decltype(count)::value, kPanels>(c + row * ldc, ldc, a + static_cast<size_t>(row) * lda,
                                                               lda, source, k / 2, accumulate);
        source.ahead = 0;
    });
}

class DotProducts {
 public:
    // k unpacked at a time: 16 KiB of two panels.
    int piece_k(const Bf16Product& product) const { return reads_once(product) ? product.k : kPieceK; }

    template <int kPanels>
    void multiply(float* sums, const Bf16Product& product, const std::byte* data, int k_begin, int k,
                  bool accumulate) const {
        constexpr int64_t kLdc = kPanels * kPanel;
        const std::byte* a = product.a + static_cast<size_t>(k_begin) * sizeof(uint16_t);
        const WeightFormat format = product.weight->format;
        const Source packed{data, product.panel_bytes, kAhead};
        if (format == WeightFormat::bf16) {
            return multiply_pair_rows<Bf16Pairs, kPanels>(sums, kLdc, a, product.row_bytes, product.rows, packed, k,
                                                          accumulate);
        }
        if (!reads_once(product)) {
            const size_t unpacked_bytes = static_cast<size_t>(k / 2) * kPairBytes;
            for (size_t p = 0; p < kPanels; ++p) {
                Panels::unpack(product.unpacked + p * unpacked_bytes, format, data + p * product.panel_bytes, k);
            }
            return multiply_pair_rows<Bf16Pairs, kPanels>(sums, kLdc, a, product.row_bytes, product.rows,
                                                          {product.unpacked, unpacked_bytes, 0}, k, accumulate);
        }
        if (format == WeightFormat::nvfp4) {
            return FewRows::with(product.rows, [&](auto count) {
                multiply_nvfp4<decltype(count)::value, kPanels>(sums, kLdc, a, product.row_bytes, packed, k / kUnitK,
                                                                accumulate);
            });
        }
        multiply_pair_rows<Fp8Pairs, kPanels>(sums, kLdc, a, product.row_bytes, product.rows, packed, k, accumulate);
    }

    // lda in bytes.
    void multiply_panels(float* c, int64_t ldc, const std::byte* a, size_t lda, int rows, const std::byte* tile,
                         int panels, int k, bool accumulate) const {
        const size_t panel_bytes = static_cast<size_t>(k / 2) * kPairBytes;
        int panel = 0;
        for (; panel + 2 <= panels; panel += 2, c += 2 * kPanel, tile += 2 * panel_bytes) {
            multiply_pair_rows<Bf16Pairs, 2>(c, ldc, a, lda, rows, {tile, panel_bytes, 0}, k, accumulate);
        }
        if (panel < panels) {
            multiply_pair_rows<Bf16Pairs, 1>(c, ldc, a, lda, rows, {tile, panel_bytes, 0}, k, accumulate);
        }
    }

 private:
    static constexpr int kPieceK = 256;
    static_assert(2 * (kPieceK / 2) * kPairBytes <= kBf16UnpackedBytes);

    // One group of rows takes values out of their format as it multiplies them.
    static bool reads_once(const Bf16Product& product) {
        return product.weight->format == WeightFormat::nvfp4 ? FewRows::has(product.rows) : Rows::has(product.rows);
    }
};

}  // namespace colugo::kernels::avx512_bf16
