// The Gated DeltaNet recurrence in the grid form of KernelTable (GdnPage, gdn_advance), for any vector.
//
// A row's numbers are a function of the border state and of the rows on its path, taken in path order: dot products are
// chains over key_dim (panel_matmul), sums over the path are chains in ascending slot order. Neither the other rows of
// the call nor the slots the path happens to sit in take part.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/generic/panel_matmul.h"
#include "kernels/generic/vector_math.h"
#include "kernels/kernel_table.h"

namespace colugo::kernels {

inline constexpr int kMaxGdnDim = 256;

struct GdnScratch {
    float queries[2 * kPage][kMaxGdnDim];   // rows' k, then rows' q; row stride is key_dim
    float dots[2 * kPage][2 * kPage];       // [row of queries][slot]: k_slot . k or k_slot . q
    float products[2 * kPage][kMaxGdnDim];  // S'k, then S'q, of one value head; row stride is value_dim
    // The path of one row in one value head, in ascending order of slots.
    int path_len;
    int path[2 * kPage];
    float decays[2 * kPage];         // e^{G_t - G_j}, then e^{G_t}
    float delta_weights[2 * kPage];  // -e^{G_t - G_j} (k_j . k_t)
    float out_weights[2 * kPage];    // e^{G_t - G_j} (k_j . q_t)
};
static_assert(sizeof(GdnScratch) <= kGdnScratchBytes);

struct GdnAdvanceScratch {
    float keys[kMaxGdnDim][kPage];  // e^{G_31 - G_j} k_j as [key_dim][slot]
    float decays[kPage];
};
static_assert(sizeof(GdnAdvanceScratch) <= kGdnScratchBytes);

// Puts the rows' keys into their slots and all k_slot . k_row, k_slot . q_row into dots.
template <class V>
void gdn_dots(const GdnPage& page, GdnScratch& scratch) {
    const int key_dim = page.key_dim;
    float* queries = scratch.queries[0];
    uint64_t needed = 0;
    for (int row = 0; row < page.rows; ++row) {
        const float* key = page.k + row * page.ld_qk;
        const float* query = page.q + row * page.ld_qk;
        const int slot = page.slots[row];
        float* column = page.keys[slot / kPage] + (slot % kPage / kPanel) * key_dim * kPanel + slot % kPanel;
        for (int i = 0; i < key_dim; ++i) column[i * kPanel] = key[i];
        for_each_vector<V>(key_dim, [&](int i, int count) {
            store_n(load_n<V>(key + i, count), queries + row * key_dim + i, count);
            store_n(load_n<V>(query + i, count), queries + (page.rows + row) * key_dim + i, count);
        });
        needed |= page.visible[row] | uint64_t{1} << slot;
    }
    for (int panel = 0; panel < 2 * kPage / kPanel; ++panel) {
        if ((needed >> (panel * kPanel) & 0xffff) == 0) continue;
        const float* keys = page.keys[panel / 2] + (panel % 2) * key_dim * kPanel;
        panel_matmul<V>(scratch.dots[0] + panel * kPanel, 2 * kPage, queries, key_dim, 2 * page.rows, keys, kPanel,
                        key_dim, false);
    }
}

template <class V>
float* gdn_delta(const GdnPage& page, int head, int slot) {
    return page.deltas[slot / kPage] + (head * kPage + slot % kPage) * page.value_dim;
}

// The row's path, its cumulative decay and the weights of its ancestors. The visible slots are gathered first: a slot
// outside the path may hold anything, and its decay would overflow.
template <class V>
void gdn_path(const GdnPage& page, int row, int head, GdnScratch& scratch) {
    int path_len = 0;
    for (uint64_t left = page.visible[row]; left != 0; left &= left - 1) {
        scratch.path[path_len++] = __builtin_ctzll(left);
    }
    const auto log_decay = [&](int slot) -> float& {
        return page.log_decays[slot / kPage][head * kPage + slot % kPage];
    };
    const float g = page.g[row * page.ld_gate + head];
    const float total = path_len == 0 ? g : g + log_decay(scratch.path[path_len - 1]);
    log_decay(page.slots[row]) = total;
    for (int step = 0; step < path_len; ++step) scratch.decays[step] = total - log_decay(scratch.path[step]);
    scratch.decays[path_len] = total;
    for_each_vector<V>(path_len + 1, [&](int i, int count) {
        store_n(exp(load_n<V>(scratch.decays + i, count)), scratch.decays + i, count);
    });
    const float* key_dots = scratch.dots[row];
    const float* query_dots = scratch.dots[page.rows + row];
    for (int step = 0; step < path_len; ++step) {
        const int slot = scratch.path[step];
        scratch.delta_weights[step] = -(scratch.decays[step] * key_dots[slot]);
        scratch.out_weights[step] = scratch.decays[step] * query_dots[slot];
    }
    scratch.path_len = path_len;
}

// delta and out of one row and value head in columns i .. i + kVectors vectors.
template <class V, int kVectors>
void gdn_row_columns(int i, const GdnPage& page, int row, int head, const GdnScratch& scratch) {
    const float* state_key = scratch.products[0] + row * page.value_dim + i;
    const float* state_query = scratch.products[0] + (page.rows + row) * page.value_dim + i;
    const float* value = page.v + row * page.ld_v + head * page.value_dim + i;
    const V decay = V::set(scratch.decays[scratch.path_len]);
    V input[kVectors];
    V out[kVectors];
    for (int part = 0; part < kVectors; ++part) {
        input[part] = V::load(value + part * V::kWidth) - decay * V::load(state_key + part * V::kWidth);
        out[part] = decay * V::load(state_query + part * V::kWidth);
    }
    for (int step = 0; step < scratch.path_len; ++step) {
        const float* delta = gdn_delta<V>(page, head, scratch.path[step]) + i;
        const V delta_weight = V::set(scratch.delta_weights[step]);
        const V out_weight = V::set(scratch.out_weights[step]);
        for (int part = 0; part < kVectors; ++part) {
            const V ancestor = V::load(delta + part * V::kWidth);
            input[part] = V::fma(delta_weight, ancestor, input[part]);
            out[part] = V::fma(out_weight, ancestor, out[part]);
        }
    }
    const int slot = page.slots[row];
    const V beta = V::set(page.beta[row * page.ld_gate + head]);
    const V own_weight = V::set(scratch.dots[page.rows + row][slot]);
    float* own = gdn_delta<V>(page, head, slot) + i;
    float* row_out = page.out + row * page.ld_out + head * page.value_dim + i;
    for (int part = 0; part < kVectors; ++part) {
        const V delta = beta * input[part];
        delta.store(own + part * V::kWidth);
        V::fma(own_weight, delta, out[part]).store(row_out + part * V::kWidth);
    }
}

template <class V>
void gdn_page(const GdnPage& page, std::byte* scratch_bytes) {
    GdnScratch& scratch = *reinterpret_cast<GdnScratch*>(scratch_bytes);
    gdn_dots<V>(page, scratch);
    constexpr int kNarrow = kPanel / V::kWidth;
    constexpr int kWide = kNarrow < 4 ? 4 : kNarrow;  // enough sums in flight to hide the latency of one
    for (int head = 0; head < page.value_heads; ++head) {
        const float* state = page.state + static_cast<int64_t>(head) * page.value_dim * page.key_dim;
        for (int column = 0; column < page.value_dim; column += kPanel) {
            panel_matmul<V>(scratch.products[0] + column, page.value_dim, scratch.queries[0], page.key_dim,
                            2 * page.rows, state + column * page.key_dim, kPanel, page.key_dim, false);
        }
        for (int row = 0; row < page.rows; ++row) {
            gdn_path<V>(page, row, head, scratch);
            int i = 0;
            for (; i + kWide * V::kWidth <= page.value_dim; i += kWide * V::kWidth) {
                gdn_row_columns<V, kWide>(i, page, row, head, scratch);
            }
            for (; i < page.value_dim; i += kPanel) gdn_row_columns<V, kNarrow>(i, page, row, head, scratch);
        }
    }
}

template <class V>
void gdn_advance(float* state_out, const float* state_in, const float* keys, const float* deltas,
                 const float* log_decays, int key_dim, int value_dim, std::byte* scratch_bytes) {
    GdnAdvanceScratch& scratch = *reinterpret_cast<GdnAdvanceScratch*>(scratch_bytes);
    const V total = V::set(log_decays[kPage - 1]);
    for (int slot = 0; slot < kPage; slot += V::kWidth) {
        exp(total - V::load(log_decays + slot)).store(scratch.decays + slot);
    }
    for (int i = 0; i < key_dim; ++i) {
        for (int slot = 0; slot < kPage; slot += V::kWidth) {
            const float* key = keys + (slot / kPanel * key_dim + i) * kPanel + slot % kPanel;
            (V::load(key) * V::load(scratch.decays + slot)).store(scratch.keys[i] + slot);
        }
    }
    float state_decay;
    store_n(exp(total), &state_decay, 1);
    const V decay = V::set(state_decay);
    for (int column = 0; column < value_dim; column += kPanel) {
        float* panel_out = state_out + column * key_dim;
        const float* panel_in = state_in + column * key_dim;
        for (int i = 0; i < key_dim * kPanel; i += V::kWidth) (decay * V::load(panel_in + i)).store(panel_out + i);
        panel_matmul<V>(panel_out, kPanel, scratch.keys[0], kPage, key_dim, deltas + column, value_dim, kPage, true);
    }
}

}  // namespace colugo::kernels
