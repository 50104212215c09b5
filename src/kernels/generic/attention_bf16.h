// Attention over one page of one key/value head on the tiers that multiply in bf16: a prepared query row is bf16, fp8
// tiles are unpacked to bf16 (exact), and p is rounded to bf16 before it is summed and multiplied.
//
// A row's numbers depend on the row alone: scores are chains of the multiplier's steps over head_dim, p V is a chain
// over the page's 32 columns continuing the rescaled output, and all 32 columns are always summed (p = 0 outside the
// row's range).
#pragma once

#include "kernels/generic/attention.h"
#include "kernels/generic/bf16_panels.h"
#include "kernels/generic/bf16_rows.h"

namespace colugo::kernels {

struct Bf16AttentionScratch {
    std::byte tile[kMaxHeadDim * kPage * sizeof(uint16_t)];  // unpacked
    uint16_t weights[kMaxAttentionRows][kPage];              // p, bf16
    float scores[kMaxAttentionRows][kPage];
};
static_assert(sizeof(Bf16AttentionScratch) <= kAttentionScratchBytes);

// The tile's `panels` panels of `depth` k as bf16 pairs, in place or unpacked.
template <class V>
const std::byte* bf16_tile(KvType type, const std::byte* tile, int panels, int depth, std::byte* unpacked) {
    if (type == KvType::bf16) return tile;
    for (int pair = 0; pair < panels * depth / 2; ++pair) {
        _mm512_storeu_si512(unpacked + pair * kPairBytes, Bf16Panels<V>::load_e4m3(tile + pair * kPairBytes / 2));
    }
    return unpacked;
}

// Multiplier: see generic/matmul_bf16.h, and
//   multiply_panels(c, ldc, a, lda bytes, rows, tile, panels, k, accumulate)
//     c[row][panel][16] (+)= rows of bf16 times panels that lie one behind the other as bf16 pairs; k is a multiple of
//     32
template <class V, class Multiplier>
void attention_page_bf16(const AttentionRows& rows, const AttentionPages& page, std::byte* scratch_bytes) {
    auto& scratch = *reinterpret_cast<Bf16AttentionScratch*>(scratch_bytes);
    const size_t query_bytes = bf16_row_bytes<V>(ActivationFormat::bf16, rows.head_dim);
    const std::byte* keys = bf16_tile<V>(page.type, page.keys[0], kPage / kPanel, rows.head_dim, scratch.tile);
    Multiplier multiplier;
    multiplier.multiply_panels(scratch.scores[0], kPage, rows.queries, query_bytes, rows.rows, keys, kPage / kPanel,
                               rows.head_dim, false);
    const auto weigh = [&](int index, const SoftmaxRow<V>& row) {
        V sum = V::zero();
        for (int i = 0; i < row.columns; i += V::kWidth) {
            const V p = V::round_bf16(row.weight(i));
            p.store_bf16(scratch.weights[index] + i);
            sum = sum + p;
        }
        return sum;
    };
    softmax_rows<V>(rows, page, scratch.scores[0], kPage, weigh, [](int, int) {});
    const std::byte* values = bf16_tile<V>(page.type, page.values[0], rows.head_dim / kPanel, kPage, scratch.tile);
    multiplier.multiply_panels(rows.out, rows.head_dim, reinterpret_cast<const std::byte*>(scratch.weights),
                               sizeof scratch.weights[0], rows.rows, values, rows.head_dim / kPanel, kPage, true);
}

}  // namespace colugo::kernels
