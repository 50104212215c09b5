// Attention over the pages of one step and one key/value head, on the tiers that multiply in fp32: there a prepared
// query row is plain f32 values, and a tile is unpacked to f32 (exact) before it is multiplied.
//
// A row's numbers depend on the row alone: scores are chains over head_dim, p V is a chain over the page's 32 columns
// continuing the rescaled output, and all 32 columns are always summed (p = 0 outside the row's range).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/generic/panel_matmul.h"
#include "kernels/generic/prepare_activation.h"
#include "kernels/generic/unroll.h"
#include "kernels/generic/vector_math.h"
#include "kernels/kernel_table.h"

namespace colugo::kernels {

inline constexpr float kInfinity = __builtin_inff();

struct AttentionScratch {
    float panel[kMaxHeadDim * kPanel];       // one panel of a tile, unpacked
    float scores[kMaxAttentionRows][kPage];  // products q . k, then p
};
static_assert(sizeof(AttentionScratch) <= kAttentionScratchBytes);

template <class V>
ActivationFormat attention_query_format(KvType type) {
    if (type == KvType::int8) return ActivationFormat::int8;
    return type == KvType::f32 ? ActivationFormat::f32 : ActivationFormat::bf16;
}

// Columns column .. column + V::kWidth of a packed panel at depth k and k + 1.
template <class V, KvType kType>
void load_tile_pair(const std::byte* panel, int k, int column, V& low, V& high) {
    if constexpr (kType == KvType::bf16) {
        V::load_bf16_pairs(panel + (k * kPanel + column * 2) * 2, low, high);
    } else if constexpr (kType == KvType::int8) {
        V::load_int8_pairs(panel + k / 4 * 4 * kPanel + column * 4, k % 4, low, high);
    } else {
        V::load_e4m3_pairs(panel + k * kPanel + column * 2, low, high);
    }
}

// panel_matmul of kRows rows with a packed panel. Unpacking a few steps ahead of multiplying lets the two overlap. With
// `keep` the whole panel is left unpacked in values [k][16], otherwise they hold a few steps only. Up to four rows that
// need not keep it leave room in the registers to multiply without the detour through memory.
template <class V, KvType kType, int kRows>
void tile_block(float* c, int64_t ldc, const float* a, int64_t lda, const std::byte* panel, int k, bool accumulate,
                float* values, bool keep) {
    constexpr int kVectors = kPanel / V::kWidth;
    constexpr int kAhead = 8;
    V sum[kRows][kVectors];
    for (int row = 0; row < kRows; ++row) {
        for (int i = 0; i < kVectors; ++i) {
            sum[row][i] = accumulate ? V::load(c + row * ldc + i * V::kWidth) : V::zero();
        }
    }
    const auto multiply = [&](int step, const V(&column)[kVectors]) {
        for (int row = 0; row < kRows; ++row) {
            const V factor = V::set(a[row * lda + step]);
            for (int i = 0; i < kVectors; ++i) sum[row][i] = V::fma(factor, column[i], sum[row][i]);
        }
    };
    const bool direct = kRows <= 4 && !keep;
    for (int step = 0; direct && step < k; step += 2) {
        V low[kVectors], high[kVectors];
        for (int i = 0; i < kVectors; ++i) load_tile_pair<V, kType>(panel, step, i * V::kWidth, low[i], high[i]);
        multiply(step, low);
        multiply(step + 1, high);
    }
    for (int begin = 0; !direct && begin < k; begin += kAhead, values += keep ? kAhead * kPanel : 0) {
        for (int step = 0; step < kAhead; step += 2) {
            for (int i = 0; i < kPanel; i += V::kWidth) {
                V low, high;
                load_tile_pair<V, kType>(panel, begin + step, i, low, high);
                low.store(values + step * kPanel + i);
                high.store(values + (step + 1) * kPanel + i);
            }
        }
        for (int step = 0; step < kAhead; ++step) {
            V column[kVectors];
            for (int i = 0; i < kVectors; ++i) column[i] = V::load(values + step * kPanel + i * V::kWidth);
            multiply(begin + step, column);
        }
    }
    for (int row = 0; row < kRows; ++row) {
        for (int i = 0; i < kVectors; ++i) sum[row][i].store(c + row * ldc + i * V::kWidth);
    }
}

template <class V, KvType kType>
void tile_block(float* c, int64_t ldc, const float* a, int64_t lda, int rows, const std::byte* panel, int k,
                bool accumulate, float* values, bool keep) {
    PanelRows<V::kWidth>::Groups::with(rows, [&](auto count) {
        tile_block<V, kType, decltype(count)::value>(c, ldc, a, lda, panel, k, accumulate, values, keep);
    });
}

// panel_matmul with every panel of a tile: output columns of panel p at c + 16 p. The first rows unpack each panel for
// the rest. values: [k][16].
template <class V, KvType kType>
void tile_product(float* c, int64_t ldc, const float* a, int64_t lda, int rows, const std::byte* tile, int panels,
                  int k, bool accumulate, float* values) {
    constexpr size_t kValueBytes = kType == KvType::f32 ? 4 : kType == KvType::bf16 ? 2 : 1;
    const size_t panel_bytes = kValueBytes * kPanel * static_cast<size_t>(k);
    for (int panel = 0; panel < panels; ++panel, c += kPanel, tile += panel_bytes) {
        if constexpr (kType == KvType::f32) {
            panel_matmul<V>(c, ldc, a, lda, rows, reinterpret_cast<const float*>(tile), kPanel, k, accumulate);
        } else {
            const int first = panel_block_rows<V>(rows);
            tile_block<V, kType>(c, ldc, a, lda, first, tile, k, accumulate, values, first < rows);
            panel_matmul<V>(c + first * ldc, ldc, a + first * lda, lda, rows - first, values, kPanel, k, accumulate);
        }
    }
}

// The greatest of a row's products q . k, lane by lane; those outside [begin, end) become -infinity.
template <class V>
V greatest_products(float* products, int columns, int begin, int end) {
    static constexpr float kLanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const V first = V::set(static_cast<float>(begin));
    const V last = V::set(static_cast<float>(end));
    const V none = V::set(-kInfinity);
    const bool whole = begin <= 0 && end >= columns;
    V greatest = none;
    for (int i = 0; i < columns; i += V::kWidth) {
        V product = V::load(products + i);
        if (!whole) {
            const V column = V::load(kLanes) + V::set(static_cast<float>(i));
            product = V::select_less(column, first, none, V::select_less(column, last, product, none));
            product.store(products + i);
        }
        greatest = V::max(greatest, product);
    }
    return greatest;
}

// How a row's products become p = e^{score - max}.
template <class V>
struct SoftmaxRow {
    float* products;  // 0 <= i < columns
    int columns;
    V scale;  // of a product: the score x log2 e
    V minus_max;

    V weight(int i) const { return exp2(V::fma(V::load(products + i), scale, minus_max)); }
};

// The running softmax of all rows over the pages' columns, whose products q . k are in `products` [rows][stride].
// weigh(row, SoftmaxRow) makes p of them and returns the sum of what it leaves of p, lane by lane; more columns that
// are all 0 do not change it. After some rows comes weighed(first row, count), count <= V::kWidth. The outputs so far
// are made relative to the new maximum.
template <class V, class Weigh, class Weighed>
void softmax_rows(const AttentionRows& rows, const AttentionPages& pages, float* products, int stride, Weigh weigh,
                  Weighed weighed) {
    constexpr float kLog2E = 1.44269504f;
    const int columns = pages.pages * kPage;
    const V scale = V::set(pages.score_scale * kLog2E);
    for_each_vector<V>(rows.rows, [&](int first, int count) {
        V each[V::kWidth];
        for (V& lanes : each) lanes = V::zero();
        for (int i = 0; i < count; ++i) {
            each[i] = greatest_products<V>(products + (first + i) * stride, columns, pages.begin, pages.end[first + i]);
        }
        const V before = load_n<V>(rows.max + first, count);
        const V max = V::max(before, reduce_max_each(each, count) * scale);
        const V rescale = exp2(before - max);
        float minus_max[V::kWidth], rescales[V::kWidth];
        store_n(V::zero() - max, minus_max, count);
        store_n(rescale, rescales, count);
        store_n(max, rows.max + first, count);
        for (int i = 0; i < count; ++i) {
            each[i] =
                weigh(first + i, SoftmaxRow<V>{products + (first + i) * stride, columns, scale, V::set(minus_max[i])});
        }
        const V sum = V::fma(load_n<V>(rows.sum + first, count), rescale, reduce_add_each(each, count));
        store_n(sum, rows.sum + first, count);
        weighed(first, count);
        for (int i = 0; i < count; ++i) {
            if (rescales[i] == 1.0f) continue;
            float* out = rows.out + static_cast<int64_t>(first + i) * rows.head_dim;
            for (int at = 0; at < rows.head_dim; at += V::kWidth) {
                (V::load(out + at) * V::set(rescales[i])).store(out + at);
            }
        }
    });
}

template <class V, KvType kType>
void attention_page_of(const AttentionRows& rows, const AttentionPages& page, AttentionScratch& scratch) {
    const ActivationFormat format = attention_query_format<V>(kType);
    const auto query_stride = static_cast<int64_t>(activation_row_bytes<V>(format, rows.head_dim) / sizeof(float));
    tile_product<V, kType>(scratch.scores[0], kPage, reinterpret_cast<const float*>(rows.queries), query_stride,
                           rows.rows, page.keys[0], kPage / kPanel, rows.head_dim, false, scratch.panel);
    const auto weigh = [](int, const SoftmaxRow<V>& row) {
        V sum = V::zero();
        for (int i = 0; i < row.columns; i += V::kWidth) {
            const V p = row.weight(i);
            p.store(row.products + i);
            sum = sum + p;
        }
        return sum;
    };
    softmax_rows<V>(rows, page, scratch.scores[0], kPage, weigh, [](int, int) {});
    tile_product<V, kType>(rows.out, rows.head_dim, scratch.scores[0], kPage, rows.rows, page.values[0],
                           rows.head_dim / kPanel, kPage, true, scratch.panel);
}

// Int8: int8 pages, attention_pages(rows, pages, scratch) (attention_int8.h).
template <class V, class Int8>
void attention_pages(const AttentionRows& rows, const AttentionPages& pages, std::byte* scratch_bytes) {
    AttentionScratch& scratch = *reinterpret_cast<AttentionScratch*>(scratch_bytes);
    switch (pages.type) {
        case KvType::f32:
            return attention_page_of<V, KvType::f32>(rows, pages, scratch);
        case KvType::bf16:
            return attention_page_of<V, KvType::bf16>(rows, pages, scratch);
        case KvType::fp8:
            return attention_page_of<V, KvType::fp8>(rows, pages, scratch);
        case KvType::int8:
            return Int8::attention_pages(rows, pages, scratch_bytes);
    }
}

template <class V>
void attention_merge(const AttentionRows& total, const AttentionRows& part) {
    for (int row = 0; row < total.rows; ++row) {
        if (part.max[row] == -kInfinity) continue;  // saw no page
        const float max = total.max[row] > part.max[row] ? total.max[row] : part.max[row];
        const V total_scale = exp2(V::set(total.max[row] - max));
        const V part_scale = exp2(V::set(part.max[row] - max));
        const auto merge = [&](V a, V b) { return V::fma(b, part_scale, a * total_scale); };
        store_n(merge(V::set(total.sum[row]), V::set(part.sum[row])), total.sum + row, 1);
        total.max[row] = max;
        float* out = total.out + row * total.head_dim;
        const float* part_out = part.out + row * total.head_dim;
        for (int i = 0; i < total.head_dim; i += V::kWidth)
            merge(V::load(out + i), V::load(part_out + i)).store(out + i);
    }
}

}  // namespace colugo::kernels
