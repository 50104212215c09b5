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
    float panel[kMaxHeadDim * kPanel];  // one panel of a tile, unpacked
    float scores[kMaxAttentionRows][kPage];
    float page_sum[kMaxAttentionRows];
    float rescale[kMaxAttentionRows];  // of the sum and the output so far
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

// Turns kColumns products q . k into p = e^{score - new max}, 0 outside [begin, end), and `max` into the new one.
// keep(p) may round them. Returns the sum of what it leaves; more columns that are all 0 do not change it.
template <class V, int kColumns, class Keep>
float softmax_columns(const float* scores, float score_scale, int begin, int end, float& max, Keep keep) {
    static constexpr float kLanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    constexpr int kVectors = kColumns / V::kWidth;
    const V first = V::set(static_cast<float>(begin));
    const V last = V::set(static_cast<float>(end));
    const V none = V::set(-kInfinity);
    const bool whole = begin <= 0 && end >= kColumns;
    V p[kVectors];
    V top = V::set(max);
    COLUGO_UNROLL for (int i = 0; i < kVectors; ++i) {
        p[i] = V::load(scores + i * V::kWidth) * V::set(score_scale);
        if (!whole) {
            const V column = V::load(kLanes) + V::set(static_cast<float>(i * V::kWidth));
            p[i] = V::select_less(column, first, none, V::select_less(column, last, p[i], none));
        }
        top = V::max(top, p[i]);
    }
    max = top.reduce_max();
    COLUGO_UNROLL for (int i = 0; i < kVectors; ++i) p[i] = exp(p[i] - V::set(max));
    keep(p);
    V sum = V::zero();
    COLUGO_UNROLL for (int i = 0; i < kVectors; ++i) sum = sum + p[i];
    return sum.reduce_add();
}

// The running softmax of all rows over kColumns columns whose products q . k are in `scores` [rows][stride]; p goes to
// keep(row, p). sums and rescales are [rows]. The outputs so far are made relative to the new maximum.
template <class V, int kColumns, class Keep>
void softmax_rows(const AttentionRows& rows, const AttentionPages& pages, const float* scores, int stride, float* sums,
                  float* rescales, Keep keep) {
    for (int row = 0; row < rows.rows; ++row) {
        const float max = rows.max[row];
        sums[row] = softmax_columns<V, kColumns>(scores + row * stride, pages.score_scale, pages.begin, pages.end[row],
                                                 rows.max[row], [&](auto& p) { keep(row, p); });
        rescales[row] = max - rows.max[row];
    }
    for_each_vector<V>(rows.rows, [&](int row, int count) {
        const V rescale = exp(load_n<V>(rescales + row, count));
        const V sum = V::fma(load_n<V>(rows.sum + row, count), rescale, load_n<V>(sums + row, count));
        store_n(rescale, rescales + row, count);
        store_n(sum, rows.sum + row, count);
    });
    for (int row = 0; row < rows.rows; ++row) {
        if (rescales[row] == 1.0f) continue;
        const V rescale = V::set(rescales[row]);
        float* out = rows.out + row * rows.head_dim;
        for (int i = 0; i < rows.head_dim; i += V::kWidth) (V::load(out + i) * rescale).store(out + i);
    }
}

template <class V, KvType kType>
void attention_page_of(const AttentionRows& rows, const AttentionPages& page, AttentionScratch& scratch) {
    const ActivationFormat format = attention_query_format<V>(kType);
    const auto query_stride = static_cast<int64_t>(activation_row_bytes<V>(format, rows.head_dim) / sizeof(float));
    tile_product<V, kType>(scratch.scores[0], kPage, reinterpret_cast<const float*>(rows.queries), query_stride,
                           rows.rows, page.keys[0], kPage / kPanel, rows.head_dim, false, scratch.panel);
    softmax_rows<V, kPage>(rows, page, scratch.scores[0], kPage, scratch.page_sum, scratch.rescale,
                           [&](int row, auto& p) {
                               for (int i = 0; i < kPage / V::kWidth; ++i)
                                   p[i].store(scratch.scores[row] + i * V::kWidth);
                           });
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
        const V total_scale = exp(V::set(total.max[row] - max));
        const V part_scale = exp(V::set(part.max[row] - max));
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
