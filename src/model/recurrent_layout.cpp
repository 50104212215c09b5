#include "model/recurrent_layout.h"

#include <algorithm>

namespace colugo {

GdnShape gdn_shape(const ModelConfig& config) {
    return {.num_key_heads = static_cast<int>(config.linear_num_key_heads),
            .num_value_heads = static_cast<int>(config.linear_num_value_heads),
            .key_dim = static_cast<int>(config.linear_key_head_dim),
            .value_dim = static_cast<int>(config.linear_value_head_dim),
            .conv_taps = static_cast<int>(config.linear_conv_kernel_dim)};
}

RecurrentLayout::RecurrentLayout(const ModelConfig& config)
    : num_layers_(static_cast<int>(
          std::count(config.layer_types.begin(), config.layer_types.end(), LayerType::linear_attention))),
      hidden_(static_cast<size_t>(config.hidden_size)) {
    const GdnShape shape = gdn_shape(config);
    border_floats_ = static_cast<size_t>(shape.num_value_heads) * static_cast<size_t>(shape.key_dim * shape.value_dim);
    keys_floats_ = static_cast<size_t>(kernels::kPage * shape.key_width());
    deltas_floats_ = static_cast<size_t>(kernels::kPage * shape.value_width());
    decays_floats_ = static_cast<size_t>(kernels::kPage * shape.num_value_heads);
    window_floats_ = static_cast<size_t>((shape.conv_taps - 1) * shape.conv_width());
}

GdnPageState RecurrentLayout::page(int layer, const std::byte* border, std::byte* next_border, std::byte* rows) const {
    const auto index = static_cast<size_t>(layer);
    float* keys = reinterpret_cast<float*>(rows) + index * rows_floats();
    return {.state = reinterpret_cast<const float*>(border) + index * border_floats_,
            .next_state = reinterpret_cast<float*>(next_border) + index * border_floats_,
            .keys = keys,
            .deltas = keys + keys_floats_,
            .log_decays = keys + keys_floats_ + deltas_floats_};
}

float* RecurrentLayout::window(int layer, std::byte* tail) const {
    return reinterpret_cast<float*>(tail) + static_cast<size_t>(layer) * window_floats_;
}

float* RecurrentLayout::pending_hidden(std::byte* tail) const {
    return reinterpret_cast<float*>(tail) + static_cast<size_t>(num_layers_) * window_floats_;
}

}  // namespace colugo
