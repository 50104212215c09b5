#include <cmath>
#include <cstring>

#include "backend/cpu/cpu_backend.h"

namespace colugo {

using kernels::kPage;
using kernels::kPanel;

namespace {

// The slots of a page's columns below `column`.
uint64_t columns_below(int64_t column) {
    return (uint64_t{1} << column) - 1;
}

}  // namespace

void CpuBackend::gdn_convolution(TensorView out, TensorView inputs, const float* weight, const GdnShape& shape,
                                 std::span<const GdnSequence> sequences) {
    constexpr int kMaxTaps = 8;
    COLUGO_CHECK(shape.conv_taps <= kMaxTaps);
    const int history = shape.conv_taps - 1;
    const int width = shape.conv_width();
    // A later row reads these inputs through the window, so every row reads them rounded.
    round_to_storage(inputs);
    for (const GdnSequence& sequence : sequences) {
        // A row of the sequence, draft rows counted behind its own; below 0, one before the pass.
        const auto input = [&](int64_t row) {
            return row >= 0 ? inputs.f32(sequence.first_row + row) : sequence.window + (history + row) * width;
        };
        const auto before = [&](int64_t row) {
            const int64_t draft = row - sequence.rows;
            return draft >= 0 && sequence.drafts.parents[draft] >= 0 ? sequence.rows + sequence.drafts.parents[draft]
                   : draft >= 0                                      ? int64_t{sequence.rows} - 1
                                                                     : row - 1;
        };
        for_rows(sequence.rows + sequence.drafts.rows, 4 * width, [&](int64_t row) {
            const float* taps[kMaxTaps];
            int64_t tap_row = row;
            for (int tap = history; tap >= 0; --tap, tap_row = before(tap_row)) taps[tap] = input(tap_row);
            table_.conv_silu(out.f32(sequence.first_row + row), taps, weight, shape.conv_taps, width);
            if (row < sequence.rows) return;
            std::copy_n(input(row), width, sequence.kept.inputs + (row - sequence.rows) * width);
        });
        for (const ConvWindow& window : sequence.windows) {
            // Oldest first: where the window replaces the one before, an input is read before it is overwritten.
            for (int i = 0; i < history; ++i) {
                std::memmove(window.inputs + i * width, input(window.rows - history + i),
                             static_cast<size_t>(width) * sizeof(float));
            }
        }
    }
}

void CpuBackend::gdn_inputs(TensorView mixed, TensorView b, TensorView a, const float* neg_exp_a_log,
                            const float* dt_bias, const GdnShape& shape) {
    constexpr float kEps = 1e-6f;
    const float query_scale = 1.0f / std::sqrt(static_cast<float>(shape.key_dim));
    for_rows(mixed.rows, 2 * shape.key_width(), [&](int64_t row) {
        for (int head = 0; head < shape.num_key_heads; ++head) {
            float* query = mixed.f32(row) + head * shape.key_dim;
            float* key = query + shape.key_width();
            table_.l2_norm(query, query, shape.key_dim, kEps, query_scale);
            table_.l2_norm(key, key, shape.key_dim, kEps, 1.0f);
        }
        table_.gdn_gates(b.f32(row), a.f32(row), b.f32(row), a.f32(row), neg_exp_a_log, dt_bias, shape.num_value_heads);
    });
}

float* CpuBackend::GdnHeads::keys_of(const GdnPageState& page, const GdnShape& shape) const {
    return own_keys != nullptr ? own_keys : page.keys + static_cast<int64_t>(key_head) * kPage * shape.key_dim;
}

float* CpuBackend::GdnHeads::keys_of(const GdnDrafts& drafts, const GdnShape& shape) const {
    return own_keys != nullptr ? own_keys + int64_t{kPage} * shape.key_dim
                               : drafts.keys + static_cast<int64_t>(key_head) * kPage * shape.key_dim;
}

// Rows of one page through one key head and value heads of its group.
void CpuBackend::gdn_rows(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                          int64_t first_row, int rows, const int32_t* slots, const uint64_t* visible,
                          const GdnPageState& page, const GdnDrafts* drafts, const GdnHeads& heads,
                          std::byte* memory) const {
    const int64_t delta_offset = static_cast<int64_t>(heads.first) * kPage * shape.value_dim;
    const int64_t decay_offset = static_cast<int64_t>(heads.first) * kPage;
    const auto of_drafts = [&](float* GdnDrafts::*part, int64_t offset) {
        return drafts != nullptr ? drafts->*part + offset : nullptr;
    };
    const float* queries = mixed.f32(first_row) + heads.key_head * shape.key_dim;
    table_.gdn_page({.rows = rows,
                     .key_dim = shape.key_dim,
                     .value_dim = shape.value_dim,
                     .value_heads = heads.count,
                     .slots = slots,
                     .visible = visible,
                     .q = queries,
                     .k = queries + shape.key_width(),
                     .ld_qk = mixed.row_stride,
                     .v = mixed.f32(first_row) + 2 * shape.key_width() + heads.first * shape.value_dim,
                     .ld_v = mixed.row_stride,
                     .beta = beta.f32(first_row) + heads.first,
                     .g = g.f32(first_row) + heads.first,
                     .ld_gate = beta.row_stride,
                     .state = page.state + static_cast<int64_t>(heads.first) * shape.key_dim * shape.value_dim,
                     .keys = {heads.keys_of(page, shape), drafts != nullptr ? heads.keys_of(*drafts, shape) : nullptr},
                     .deltas = {page.deltas + delta_offset, of_drafts(&GdnDrafts::deltas, delta_offset)},
                     .log_decays = {page.log_decays + decay_offset, of_drafts(&GdnDrafts::log_decays, decay_offset)},
                     .out = out.f32(first_row) + heads.first * shape.value_dim,
                     .ld_out = out.row_stride},
                    memory);
}

// All rows of one sequence through some heads: page by page, S moved on at each border.
void CpuBackend::gdn_heads(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                           const GdnSequence& sequence, const GdnHeads& heads, std::byte* memory) const {
    const GdnPageState* page = sequence.pages;
    for (int token = 0; token < sequence.rows; ++page) {
        const int column = static_cast<int>((sequence.position + token) % kPage);
        const int rows = std::min(sequence.rows - token, kPage - column);
        int32_t slots[kPage];
        uint64_t visible[kPage];
        for (int i = 0; i < rows; ++i) {
            slots[i] = column + i;
            visible[i] = columns_below(slots[i]);
        }
        gdn_rows(out, mixed, beta, g, shape, sequence.first_row + token, rows, slots, visible, *page, nullptr, heads,
                 memory);
        if (column + rows == kPage) gdn_advance_heads(shape, *page, heads, memory);
        token += rows;
    }
    if (sequence.drafts.rows > 0) gdn_draft_rows(out, mixed, beta, g, shape, sequence, heads, memory);
}

// Puts a draft row into a column of its page.
void CpuBackend::gdn_move_row(const GdnShape& shape, const GdnPageState& page, const GdnDrafts& kept,
                              const GdnHeads& heads, int row, int64_t column) {
    const auto slot = [&](int64_t at) { return at / kPanel * shape.key_dim * kPanel + at % kPanel; };
    const float* key = heads.keys_of(kept, shape) + slot(row);
    float* to = heads.keys_of(page, shape) + slot(column);
    for (int i = 0; i < shape.key_dim; ++i) to[i * kPanel] = key[i * kPanel];
    for (int head = heads.first; head < heads.first + heads.count; ++head) {
        const int64_t first = static_cast<int64_t>(head) * kPage;
        std::copy_n(kept.deltas + (first + row) * shape.value_dim, shape.value_dim,
                    page.deltas + (first + column) * shape.value_dim);
        page.log_decays[first + column] = kept.log_decays[first + row];
    }
}

// S at a page's end.
void CpuBackend::gdn_advance_heads(const GdnShape& shape, const GdnPageState& page, const GdnHeads& heads,
                                   std::byte* memory) const {
    const int64_t state_floats = static_cast<int64_t>(shape.key_dim) * shape.value_dim;
    for (int head = heads.first; head < heads.first + heads.count; ++head) {
        const int64_t first = static_cast<int64_t>(head) * kPage;
        table_.gdn_advance(page.next_state + head * state_floats, page.state + head * state_floats,
                           heads.keys_of(page, shape), page.deltas + first * shape.value_dim, page.log_decays + first,
                           shape.key_dim, shape.value_dim, memory);
    }
}

// The draft rows of one sequence through some heads: those in the page of the last row, then those past its end,
// which all descend from one row in its last column.
void CpuBackend::gdn_draft_rows(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                                const GdnSequence& sequence, const GdnHeads& heads, std::byte* memory) const {
    const DraftRows& drafts = sequence.drafts;
    const int64_t first_position = sequence.last_position() + 1;
    const int64_t first_page = first_position / kPage;
    const GdnPageState* page = sequence.pages + (first_page - sequence.position / kPage);
    uint64_t visible[kMaxDraftRows];
    int32_t slots[kMaxDraftRows];
    int beyond = 0;  // the first row past the page's end
    for (int row = 0; row < drafts.rows; ++row) {
        const int64_t position = sequence.last_position() + drafts.depths[row];
        const int parent = drafts.parents[row];
        slots[row] = static_cast<int32_t>(kPage) + row;
        if (position / kPage == first_page) {
            visible[row] =
                parent >= 0 ? visible[parent] | uint64_t{1} << slots[parent] : columns_below(first_position % kPage);
            beyond = row + 1;
        } else {
            visible[row] = position % kPage == 0 ? 0 : visible[parent] | uint64_t{1} << slots[parent];
        }
    }
    const auto feed = [&](const GdnPageState& state, int begin, int end) {
        if (begin == end) return;
        gdn_rows(out, mixed, beta, g, shape, sequence.first_row + sequence.rows + begin, end - begin, slots + begin,
                 visible + begin, state, &sequence.kept, heads, memory);
    };
    feed(*page, 0, beyond);
    if (beyond == drafts.rows) return;
    int ancestor = drafts.parents[beyond];
    for (int64_t column = kPage - 1; ancestor >= 0; --column, ancestor = drafts.parents[ancestor]) {
        gdn_move_row(shape, *page, sequence.kept, heads, ancestor, column);
    }
    gdn_advance_heads(shape, *page, heads, memory);
    feed({.state = page->next_state,
          .next_state = nullptr,
          .keys = page->keys,
          .deltas = page->deltas,
          .log_decays = page->log_decays},
         beyond, drafts.rows);
}

void CpuBackend::gdn_commit(const GdnShape& shape, const GdnPageState* pages, const DraftPath& path,
                            const GdnDrafts& kept, float* window) {
    const auto count = static_cast<int64_t>(path.rows.size());
    const int group = shape.num_value_heads / shape.num_key_heads;
    pool_.parallel_for(shape.num_key_heads, [&](int key_head, int thread) {
        const GdnHeads heads{.key_head = key_head, .first = key_head * group, .count = group};
        for (int64_t i = 0; i < count; ++i) {
            const int64_t position = path.position + i, column = position % kPage;
            const GdnPageState& page = pages[position / kPage - path.position / kPage];
            gdn_move_row(shape, page, kept, heads, path.rows[static_cast<size_t>(i)], column);
            if (column == kPage - 1) gdn_advance_heads(shape, page, heads, scratch(thread));
        }
    });
    const int history = shape.conv_taps - 1, width = shape.conv_width();
    for (int i = 0; i < history; ++i) {
        const int64_t from = count - history + i;  // of the path; below 0, of the window
        const float* input = from >= 0 ? kept.inputs + int64_t{path.rows[static_cast<size_t>(from)]} * width
                                       : window + (history + from) * width;
        std::memmove(window + i * width, input, static_cast<size_t>(width) * sizeof(float));
    }
}

void CpuBackend::gated_delta_net(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                                 std::span<const GdnSequence> sequences) {
    COLUGO_CHECK(beta.row_stride == g.row_stride);
    const int group = shape.num_value_heads / shape.num_key_heads;
    const int key_heads = static_cast<int>(sequences.size()) * shape.num_key_heads;
    // Where there are fewer key heads than threads, several threads share the value heads of one. Each but the first
    // has the keys to itself, and computes again what is the same for all.
    const int parts = std::clamp(pool_.size() / std::max(key_heads, 1), 1, group);
    const size_t tile_floats = static_cast<size_t>(kPage) * static_cast<size_t>(shape.key_dim);
    if (parts > 1) grow(gdn_keys_, static_cast<size_t>(key_heads * parts) * 2 * tile_floats * sizeof(float));
    const auto heads_of = [&](int task) {
        const int key_head = task / parts % shape.num_key_heads, part = task % parts;
        const int first = part * group / parts;
        return GdnHeads{
            .key_head = key_head,
            .first = key_head * group + first,
            .count = (part + 1) * group / parts - first,
            .own_keys = part == 0 ? nullptr : gdn_keys_.as<float>() + static_cast<size_t>(task) * 2 * tile_floats};
    };
    const auto sequence_of = [&](int task) -> const GdnSequence& {
        return sequences[static_cast<size_t>(task / parts / shape.num_key_heads)];
    };
    for (int task = 0; task < key_heads * parts; ++task) {
        const GdnHeads heads = heads_of(task);
        if (heads.own_keys == nullptr) continue;
        const GdnHeads first{.key_head = heads.key_head};
        std::copy_n(first.keys_of(sequence_of(task).pages[0], shape), tile_floats, heads.own_keys);
    }
    pool_.parallel_for(key_heads * parts, [&](int task, int thread) {
        gdn_heads(out, mixed, beta, g, shape, sequence_of(task), heads_of(task), scratch(thread));
    });
}

}  // namespace colugo
