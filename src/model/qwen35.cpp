#include "model/qwen35.h"

#include <cstring>

namespace colugo {

Qwen35::Qwen35(const ModelConfig& config, const ModelWeights& weights, Backend& backend, const ModelOptions& options)
    : config_(config),
      weights_(weights),
      backend_(backend),
      kv_type_(options.kv_type),
      max_rows_(options.max_rows),
      page_layout_(config, weights, options.kv_type),
      inverse_frequencies_(inverse_frequencies(config)) {
    const int64_t rotary_dim = config.rotary_dim();
    const int64_t hidden = config.hidden_size;
    const int64_t row_floats = 6 * hidden + rotary_dim;
    const size_t view_bytes = static_cast<size_t>(max_rows_ * row_floats) * sizeof(float);
    const size_t arena_bytes = static_cast<size_t>(max_rows_ * layer_arena_floats(config)) * sizeof(float);
    workspace_bytes_ = view_bytes + arena_bytes;
    memory_ = Buffer(view_bytes);
    arena_ = Arena(arena_bytes);
    float* next = memory_.as<float>();
    const auto take = [&](int64_t cols) {
        TensorView view(next, max_rows_, cols);
        next += max_rows_ * cols;
        return view;
    };
    x_ = take(hidden);
    normed_ = take(hidden);
    hidden_ = take(hidden);
    mtp_hidden_ = take(hidden);
    mtp_concat_ = take(2 * hidden);
    cos_sin_ = take(rotary_dim);
}

LayerContext Qwen35::context(int64_t rows) {
    return {.backend = backend_,
            .config = config_,
            .arena = arena_,
            .normed = normed_.first_rows(rows),
            .cos_sin = cos_sin_.first_rows(rows),
            .kv_type = kv_type_};
}

void Qwen35::forward(std::span<const SequenceRows> batch) {
    tokens_.clear();
    attention_.clear();
    gdn_.clear();
    for (const SequenceRows& rows : batch) {
        SequenceState& sequence = *rows.sequence;
        const int first_row = static_cast<int>(tokens_.size());
        const int count = static_cast<int>(rows.tokens.size());
        COLUGO_CHECK(sequence.length + count <= sequence.page_capacity());
        attention_.push_back({first_row, count, sequence.length, 0, sequence.pages.data()});
        gdn_.push_back({first_row, count, sequence.length, {}});
        tokens_.insert(tokens_.end(), rows.tokens.begin(), rows.tokens.end());
    }
    const auto rows = static_cast<int64_t>(tokens_.size());
    COLUGO_CHECK(rows <= max_rows_);
    const LayerContext layer_context = context(rows);
    TensorView x = x_.first_rows(rows);

    backend_.embed(x, tokens_, weights_.embed_tokens.packed);
    backend_.rope_table(layer_context.cos_sin, attention_, inverse_frequencies_);
    int gdn_index = 0;
    size_t attention_index = 0;
    for (size_t layer = 0; layer < weights_.layers.size(); ++layer) {
        if (config_.layer_types[layer] == LayerType::linear_attention) {
            for (size_t i = 0; i < batch.size(); ++i) gdn_[i].state = batch[i].sequence->gdn(gdn_index);
            gdn_layer(layer_context, x, weights_.layers[layer], gdn_);
            ++gdn_index;
        } else {
            attention_layer(layer_context, x, weights_.layers[layer], page_layout_.trunk[attention_index++],
                            attention_);
        }
        if (observer_) observer_(static_cast<int>(layer), x);
    }
    TensorView hidden = hidden_.first_rows(rows);
    backend_.rms_norm(hidden, x, weights_.norm.data(), static_cast<float>(config_.rms_norm_eps));
    backend_.round_to_storage(hidden);
    if (has_mtp()) fill_mtp(batch);
    int64_t row = 0;
    for (const SequenceRows& fed : batch) {
        const auto count = static_cast<int64_t>(fed.tokens.size());
        row += count;
        if (count == 0) continue;
        std::memcpy(fed.sequence->pending_hidden(), hidden_.f32(row - 1),
                    static_cast<size_t>(config_.hidden_size) * sizeof(float));
        fed.sequence->length += count;
    }
}

void Qwen35::head(TensorView out, TensorView hidden) {
    const LinearCall call[] = {{&weights_.head().packed, out}};
    backend_.linear(call, hidden);
}

void Qwen35::logits(TensorView out, std::span<const int32_t> rows) {
    TensorView selected = normed_.first_rows(static_cast<int64_t>(rows.size()));
    backend_.gather_rows(selected, hidden_, rows);
    head(out, selected);
}

}  // namespace colugo
