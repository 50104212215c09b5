#include "model/sequence_state.h"

#include <algorithm>

namespace colugo {

GdnShape gdn_shape(const ModelConfig& config) {
    return {.num_key_heads = static_cast<int>(config.linear_num_key_heads),
            .num_value_heads = static_cast<int>(config.linear_num_value_heads),
            .key_dim = static_cast<int>(config.linear_key_head_dim),
            .value_dim = static_cast<int>(config.linear_value_head_dim),
            .conv_taps = static_cast<int>(config.linear_conv_kernel_dim)};
}

SequenceState::SequenceState(const ModelConfig& config) {
    const GdnShape shape = gdn_shape(config);
    const int64_t state = int64_t{shape.num_value_heads} * shape.key_dim * shape.value_dim;
    const int64_t keys = int64_t{kernels::kPage} * shape.key_width();
    const int64_t deltas = int64_t{kernels::kPage} * shape.value_width();
    const int64_t log_decays = int64_t{kernels::kPage} * shape.num_value_heads;
    const int64_t window = int64_t{shape.conv_taps - 1} * shape.conv_width();
    const auto layers = std::count(config.layer_types.begin(), config.layer_types.end(), LayerType::linear_attention);

    const int64_t floats = layers * (state + keys + deltas + log_decays + window) + config.hidden_size;
    memory_ = Buffer(static_cast<size_t>(floats) * sizeof(float));
    float* next = memory_.as<float>();
    const auto take = [&next](int64_t count) {
        float* start = next;
        next += count;
        return start;
    };
    for (int64_t i = 0; i < layers; ++i) {
        GdnState layer{};
        layer.state = take(state);
        layer.keys = take(keys);
        layer.deltas = take(deltas);
        layer.log_decays = take(log_decays);
        layer.conv_window = take(window);
        gdn_.push_back(layer);
    }
    pending_hidden_ = take(config.hidden_size);
}

}  // namespace colugo
