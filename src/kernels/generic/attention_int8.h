// Attention over int8 pages, one or two at once. Products of integers are summed exactly, so the tiers differ in the
// last bits of e^x alone:
//   score_j = (sum_i q_i k_ij) x key scale_j x query scale
//   w_j = p_j x value scale_j,  unit = max_j w_j / 255,  out += unit x sum_j round(w_j / unit) v_ij
// j over the columns of both. Weights are rounded per row, to what a multiplier of bytes takes. The softmax's sum is
// that of p.
//
// Here for the tiers that multiply in f32, in which the sums are exact too: |q . k| <= 127 x 127 x 256 < 2^24.
#pragma once

#include "kernels/generic/attention.h"
#include "kernels/generic/int8_tile.h"

namespace colugo::kernels {

// The columns that a row may have in one step.
inline constexpr int kStepColumns = pages_per_step(KvType::int8) * kPage;

// The values' scales of all columns.
template <class V>
void gather_value_scales(float* scales, const AttentionPages& pages, int head_dim) {
    for (int page = 0; page < pages.pages; ++page) {
        __builtin_memcpy(scales + page * kPage, int8_scales<V>(pages.values[page], head_dim), kPage * sizeof(float));
    }
}

// What p makes of its columns' values goes to store(column, V) as multiples in [0, 255], to be rounded there, of a
// unit, which is returned.
template <class V, int kVectors, class Store>
float weigh_columns(const V (&p)[kVectors], const float* value_scales, Store store) {
    constexpr float kLeast = 0x1p-100f;  // nothing: the quotient below must not overflow
    V weights[kVectors];
    V top = V::zero();
    COLUGO_UNROLL for (int i = 0; i < kVectors; ++i) {
        weights[i] = p[i] * V::load(value_scales + i * V::kWidth);
        top = V::max(weights[i], top);
    }
    const float most = top.reduce_max();
    const V factor = V::set(most < kLeast ? 0.0f : 255.0f / most);
    COLUGO_UNROLL for (int i = 0; i < kVectors; ++i) store(i * V::kWidth, weights[i] * factor);
    return most / 255.0f;
}

template <class V>
struct Int8Attention {
    struct Scratch {
        float panel[kMaxHeadDim * kPanel];              // one panel of a tile, unpacked
        float scores[kMaxAttentionRows][kStepColumns];  // and the weights they become
        float value_scales[kStepColumns];
        float product[kMaxAttentionRows * kMaxHeadDim];
        float sum[kMaxAttentionRows];
        float rescale[kMaxAttentionRows];
        float unit[kMaxAttentionRows];
    };
    static_assert(sizeof(Scratch) <= kAttentionScratchBytes);

    static void attention_pages(const AttentionRows& rows, const AttentionPages& pages, std::byte* scratch_bytes) {
        Scratch& scratch = *reinterpret_cast<Scratch*>(scratch_bytes);
        for (int page = 0; page < pages.pages; ++page) score(rows, pages.keys[page], page * kPage, scratch);
        gather_value_scales<V>(scratch.value_scales, pages, rows.head_dim);
        if (pages.pages == 1) {
            weigh<kPage>(rows, pages, scratch);
        } else {
            weigh<kStepColumns>(rows, pages, scratch);
        }
        add_values(rows, pages, scratch);
    }

 private:
    // Of the page whose first column is `column`.
    static void score(const AttentionRows& rows, const std::byte* keys, int column, Scratch& scratch) {
        const size_t row_bytes = activation_row_bytes<V>(ActivationFormat::int8, rows.head_dim);
        tile_product<V, KvType::int8>(scratch.scores[0] + column, kStepColumns,
                                      reinterpret_cast<const float*>(rows.queries),
                                      static_cast<int64_t>(row_bytes / sizeof(float)), rows.rows, keys, kPage / kPanel,
                                      rows.head_dim, false, scratch.panel);
        const float* key_scales = int8_scales<V>(keys, rows.head_dim);
        for (int row = 0; row < rows.rows; ++row) {
            const std::byte* query = rows.queries + static_cast<size_t>(row) * row_bytes;
            const V query_scale = V::set(int8_row_end<V>(query, rows.head_dim).scale);
            for (int i = 0; i < kPage; i += V::kWidth) {
                float* scores = scratch.scores[row] + column + i;
                (V::load(scores) * V::load(key_scales + i) * query_scale).store(scores);
            }
        }
    }

    template <int kColumns>
    static void weigh(const AttentionRows& rows, const AttentionPages& pages, Scratch& scratch) {
        softmax_rows<V, kColumns>(
            rows, pages, scratch.scores[0], kStepColumns, scratch.sum, scratch.rescale, [&](int row, auto& p) {
                float* weights = scratch.scores[row];
                scratch.unit[row] = weigh_columns<V>(
                    p, scratch.value_scales, [&](int column, V weight) { V::round(weight).store(weights + column); });
            });
    }

    static void add_values(const AttentionRows& rows, const AttentionPages& pages, Scratch& scratch) {
        const int dim = rows.head_dim;
        for (int page = 0; page < pages.pages; ++page) {
            tile_product<V, KvType::int8>(scratch.product, dim, scratch.scores[0] + page * kPage, kStepColumns,
                                          rows.rows, pages.values[page], dim / kPanel, kPage, page > 0, scratch.panel);
        }
        for (int row = 0; row < rows.rows; ++row) {
            const V unit = V::set(scratch.unit[row]);
            for (int i = row * dim; i < (row + 1) * dim; i += V::kWidth) {
                V::fma(V::load(scratch.product + i), unit, V::load(rows.out + i)).store(rows.out + i);
            }
        }
    }
};

}  // namespace colugo::kernels
