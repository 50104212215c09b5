// Attention over int8 pages, some at once. Products of integers are summed exactly, so the tiers differ in the
// last bits of e^x alone:
//   score_j = (sum_i q_i k_ij) x key scale_j x query scale
//   w_j = p_j x value scale_j,  unit = max_j w_j / 255,  out += unit x sum_j round(w_j / unit) v_ij
// j over the columns of all of them. Weights are rounded per row, to what a multiplier of bytes takes. The softmax's
// sum is that of p.
//
// Here for the tiers that multiply in f32, in which the sums are exact too: |q . k| <= 127 x 127 x 256 < 2^24.
#pragma once

#include "kernels/generic/attention.h"
#include "kernels/generic/int8_tile.h"

namespace colugo::kernels {

// The columns that a row may have in one step.
inline constexpr int kStepColumns = pages_per_step(KvType::int8) * kPage;

struct Int8Weights {
    float scores[kMaxAttentionRows][kStepColumns];  // q . k, then w
    float value_scales[kStepColumns];
    float units[kMaxAttentionRows];
};

// Makes weights of the scores of all rows: store(row, column, V) gets w / unit, in [0, 255], to be rounded there.
template <class V, class Store>
void weigh_int8(const AttentionRows& rows, const AttentionPages& pages, Int8Weights& weights, Store store) {
    for (int page = 0; page < pages.pages; ++page) {
        __builtin_memcpy(weights.value_scales + page * kPage, int8_scales<V>(pages.values[page], rows.head_dim),
                         kPage * sizeof(float));
    }
    V tops[V::kWidth];
    for (V& top : tops) top = V::zero();
    const auto weigh = [&](int index, const SoftmaxRow<V>& row) {
        V sum = V::zero();
        V top = V::zero();
        for (int i = 0; i < row.columns; i += V::kWidth) {
            const V p = row.weight(i);
            const V weight = p * V::load(weights.value_scales + i);
            weight.store(row.products + i);
            sum = sum + p;
            top = V::max(weight, top);
        }
        tops[index % V::kWidth] = top;
        return sum;
    };
    const auto weighed = [&](int first, int count) {
        const V least = V::set(0x1p-100f);  // below it nothing: the quotient must not overflow
        const V most = reduce_max_each(tops, count);
        float factors[V::kWidth];
        store_n(V::select_less(most, least, V::zero(), V::set(255.0f) / most), factors, count);
        store_n(most / V::set(255.0f), weights.units + first, count);
        for (int i = 0; i < count; ++i) {
            for (int column = 0; column < pages.pages * kPage; column += V::kWidth) {
                store(first + i, column, V::load(weights.scores[first + i] + column) * V::set(factors[i]));
            }
        }
    };
    softmax_rows<V>(rows, pages, weights.scores[0], kStepColumns, weigh, weighed);
}

template <class V>
struct Int8Attention {
    struct Scratch {
        float panel[kMaxHeadDim * kPanel];  // one panel of a tile, unpacked
        Int8Weights weights;
        float product[kMaxAttentionRows * kMaxHeadDim];
    };
    static_assert(sizeof(Scratch) <= kAttentionScratchBytes);

    static void attention_pages(const AttentionRows& rows, const AttentionPages& pages, std::byte* scratch_bytes) {
        Scratch& scratch = *reinterpret_cast<Scratch*>(scratch_bytes);
        for (int page = 0; page < pages.pages; ++page) score(rows, pages.keys[page], page * kPage, scratch);
        weigh_int8<V>(rows, pages, scratch.weights, [&](int row, int column, V weight) {
            V::round(weight).store(scratch.weights.scores[row] + column);
        });
        add_values(rows, pages, scratch);
    }

 private:
    // Of the page whose first column is `column`.
    static void score(const AttentionRows& rows, const std::byte* keys, int column, Scratch& scratch) {
        const size_t row_bytes = activation_row_bytes<V>(ActivationFormat::int8, rows.head_dim);
        tile_product<V, KvType::int8>(scratch.weights.scores[0] + column, kStepColumns,
                                      reinterpret_cast<const float*>(rows.queries),
                                      static_cast<int64_t>(row_bytes / sizeof(float)), rows.rows, keys, kPage / kPanel,
                                      rows.head_dim, false, scratch.panel);
        const float* key_scales = int8_scales<V>(keys, rows.head_dim);
        for (int row = 0; row < rows.rows; ++row) {
            const std::byte* query = rows.queries + static_cast<size_t>(row) * row_bytes;
            const V query_scale = V::set(int8_row_end<V>(query, rows.head_dim).scale);
            for (int i = 0; i < kPage; i += V::kWidth) {
                float* scores = scratch.weights.scores[row] + column + i;
                (V::load(scores) * V::load(key_scales + i) * query_scale).store(scores);
            }
        }
    }

    static void add_values(const AttentionRows& rows, const AttentionPages& pages, Scratch& scratch) {
        const int dim = rows.head_dim;
        for (int page = 0; page < pages.pages; ++page) {
            tile_product<V, KvType::int8>(scratch.product, dim, scratch.weights.scores[0] + page * kPage, kStepColumns,
                                          rows.rows, pages.values[page], dim / kPanel, kPage, page > 0, scratch.panel);
        }
        for (int row = 0; row < rows.rows; ++row) {
            const V unit = V::set(scratch.weights.units[row]);
            for (int i = row * dim; i < (row + 1) * dim; i += V::kWidth) {
                V::fma(V::load(scratch.product + i), unit, V::load(rows.out + i)).store(rows.out + i);
            }
        }
    }
};

}  // namespace colugo::kernels
