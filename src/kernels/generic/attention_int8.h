// Attention over one int8 page. Products of integers are summed exactly, so the tiers differ in the last bits of e^x
// alone:
//   score_j = (sum_i q_i k_ij) x key scale_j x query scale
//   w_j = p_j x value scale_j,  unit = max_j w_j / 255,  out += unit x sum_j round(w_j / unit) v_ij
// Weights are rounded per row and page, to what a multiplier of bytes takes. The softmax's sum is that of p.
//
// Here for the tiers that multiply in f32, in which the sums are exact too: |q . k| <= 127 x 127 x 256 < 2^24.
#pragma once

#include "kernels/generic/attention.h"
#include "kernels/generic/int8_tile.h"

namespace colugo::kernels {

// Turns a row's 32 values p into integers 0..255, which go to store(column, V); returns their unit.
template <class V, class Store>
float weigh_columns(const float* p, const float* value_scales, Store store) {
    constexpr int kVectors = kPage / V::kWidth;
    constexpr float kLeast = 0x1p-100f;  // nothing: the quotient below must not overflow
    V weights[kVectors];
    V top = V::zero();
    for (int i = 0; i < kVectors; ++i) {
        weights[i] = V::load(p + i * V::kWidth) * V::load(value_scales + i * V::kWidth);
        top = V::max(weights[i], top);
    }
    const float most = top.reduce_max();
    const V factor = V::set(most < kLeast ? 0.0f : 255.0f / most);
    for (int i = 0; i < kVectors; ++i) store(i * V::kWidth, V::round(weights[i] * factor));
    return most / 255.0f;
}

template <class V>
struct Int8Attention {
    struct Scratch {
        float panel[kMaxHeadDim * kPanel];  // one panel of a tile, unpacked
        float scores[kMaxAttentionRows][kPage];
        float product[kMaxAttentionRows * kMaxHeadDim];
        float page_sum[kMaxAttentionRows];
        float rescale[kMaxAttentionRows];
    };
    static_assert(sizeof(Scratch) <= kAttentionScratchBytes);

    static void attention_page(const AttentionRows& rows, const AttentionPage& page, std::byte* scratch_bytes) {
        Scratch& scratch = *reinterpret_cast<Scratch*>(scratch_bytes);
        score(rows, page, scratch);
        softmax_page<V>(rows, page, scratch.scores[0], scratch.page_sum, scratch.rescale,
                        [&](int row, int column, V p) {
                            p.store(scratch.scores[row] + column);
                            return p;
                        });
        add_values(rows, page, scratch);
    }

 private:
    static void score(const AttentionRows& rows, const AttentionPage& page, Scratch& scratch) {
        const size_t row_bytes = activation_row_bytes<V>(ActivationFormat::int8, rows.head_dim);
        tile_product<V, KvType::int8>(scratch.scores[0], kPage, reinterpret_cast<const float*>(rows.queries),
                                      static_cast<int64_t>(row_bytes / sizeof(float)), rows.rows, page.keys,
                                      kPage / kPanel, rows.head_dim, false, scratch.panel);
        const float* key_scales = int8_scales<V>(page.keys, rows.head_dim);
        for (int row = 0; row < rows.rows; ++row) {
            const std::byte* query = rows.queries + static_cast<size_t>(row) * row_bytes;
            const V query_scale = V::set(int8_row_end<V>(query, rows.head_dim).scale);
            for (int i = 0; i < kPage; i += V::kWidth) {
                float* scores = scratch.scores[row] + i;
                (V::load(scores) * V::load(key_scales + i) * query_scale).store(scores);
            }
        }
    }

    static void add_values(const AttentionRows& rows, const AttentionPage& page, Scratch& scratch) {
        const int dim = rows.head_dim;
        const float* value_scales = int8_scales<V>(page.values, dim);
        float* units = scratch.page_sum;
        for (int row = 0; row < rows.rows; ++row) {
            float* codes = scratch.scores[row];
            units[row] = weigh_columns<V>(codes, value_scales, [&](int column, V code) { code.store(codes + column); });
        }
        tile_product<V, KvType::int8>(scratch.product, dim, scratch.scores[0], kPage, rows.rows, page.values,
                                      dim / kPanel, kPage, false, scratch.panel);
        for (int row = 0; row < rows.rows; ++row) {
            const V unit = V::set(units[row]);
            for (int i = row * dim; i < (row + 1) * dim; i += V::kWidth) {
                V::fma(V::load(scratch.product + i), unit, V::load(rows.out + i)).store(rows.out + i);
            }
        }
    }
};

}  // namespace colugo::kernels
