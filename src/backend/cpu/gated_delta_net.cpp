#include <cmath>
#include <cstring>

#include "backend/cpu/cpu_backend.h"

namespace colugo {

using kernels::kPage;

void CpuBackend::gdn_convolution(TensorView out, TensorView inputs, const float* weight, const GdnShape& shape,
                                 std::span<const GdnSequence> sequences) {
    constexpr int kMaxTaps = 8;
    COLUGO_CHECK(shape.conv_taps <= kMaxTaps);
    const int history = shape.conv_taps - 1;
    const int width = shape.conv_width();
    // A later row reads these inputs through the window, so every row reads them rounded.
    round_to_storage(inputs);
    for (const GdnSequence& sequence : sequences) {
        const auto input = [&](int64_t token) {
            return token >= 0 ? inputs.f32(sequence.first_row + token) : sequence.window + (history + token) * width;
        };
        for_rows(sequence.rows, 4 * width, [&](int64_t token) {
            const float* taps[kMaxTaps];
            for (int tap = 0; tap < shape.conv_taps; ++tap) taps[tap] = input(token - history + tap);
            table_.conv_silu(out.f32(sequence.first_row + token), taps, weight, shape.conv_taps, width);
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

// All rows of one sequence through one key head and its value heads: page by page, S moved on at each border.
void CpuBackend::gdn_key_head(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                              const GdnSequence& sequence, int key_head, std::byte* memory) const {
    const int group = shape.num_value_heads / shape.num_key_heads;
    const int first_head = key_head * group;
    const int64_t state_floats = static_cast<int64_t>(shape.key_dim) * shape.value_dim;

    const GdnPageState* page = sequence.pages;
    for (int token = 0; token < sequence.rows; ++page) {
        float* keys = page->keys + static_cast<int64_t>(key_head) * kPage * shape.key_dim;
        float* deltas = page->deltas + static_cast<int64_t>(first_head) * kPage * shape.value_dim;
        float* log_decays = page->log_decays + first_head * kPage;
        const int column = static_cast<int>((sequence.position + token) % kPage);
        const int rows = std::min(sequence.rows - token, kPage - column);
        int32_t slots[kPage];
        uint64_t visible[kPage];
        for (int i = 0; i < rows; ++i) {
            slots[i] = column + i;
            visible[i] = (uint64_t{1} << slots[i]) - 1;
        }
        const int64_t row = sequence.first_row + token;
        const float* queries = mixed.f32(row) + key_head * shape.key_dim;
        table_.gdn_page({.rows = rows,
                         .key_dim = shape.key_dim,
                         .value_dim = shape.value_dim,
                         .value_heads = group,
                         .slots = slots,
                         .visible = visible,
                         .q = queries,
                         .k = queries + shape.key_width(),
                         .ld_qk = mixed.row_stride,
                         .v = mixed.f32(row) + 2 * shape.key_width() + first_head * shape.value_dim,
                         .ld_v = mixed.row_stride,
                         .beta = beta.f32(row) + first_head,
                         .g = g.f32(row) + first_head,
                         .ld_gate = beta.row_stride,
                         .state = page->state + first_head * state_floats,
                         .keys = {keys, nullptr},
                         .deltas = {deltas, nullptr},
                         .log_decays = {log_decays, nullptr},
                         .out = out.f32(row) + first_head * shape.value_dim,
                         .ld_out = out.row_stride},
                        memory);
        if (column + rows == kPage) {
            for (int head = 0; head < group; ++head) {
                const int64_t offset = (first_head + head) * state_floats;
                table_.gdn_advance(page->next_state + offset, page->state + offset, keys,
                                   deltas + static_cast<int64_t>(head) * kPage * shape.value_dim,
                                   log_decays + head * kPage, shape.key_dim, shape.value_dim, memory);
            }
        }
        token += rows;
    }
}

void CpuBackend::gated_delta_net(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                                 std::span<const GdnSequence> sequences) {
    COLUGO_CHECK(beta.row_stride == g.row_stride);
    const int tasks = static_cast<int>(sequences.size()) * shape.num_key_heads;
    pool_.parallel_for(tasks, [&](int task, int thread) {
        gdn_key_head(out, mixed, beta, g, shape, sequences[static_cast<size_t>(task / shape.num_key_heads)],
                     task % shape.num_key_heads, scratch(thread));
    });
}

}  // namespace colugo
