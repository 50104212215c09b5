#include "model/draft_buffers.h"

namespace colugo {

DraftBuffers::DraftBuffers(const ModelConfig& config, const RecurrentLayout& layout, int attention_layers, int max_rows,
                           int max_sequences)
    : layout_(&layout),
      max_rows_(max_rows),
      max_sequences_(max_sequences),
      kv_width_(config.num_key_value_heads * config.head_dim),
      conv_width_(gdn_shape(config).conv_width()) {
    const auto key_value_floats = static_cast<size_t>(2 * attention_layers * max_rows * kv_width_);
    const auto input_floats = static_cast<size_t>(layout.num_layers() * max_rows * conv_width_);
    const size_t floats = (key_value_floats + input_floats) * sizeof(float);
    memory_ = Buffer(floats + static_cast<size_t>(max_sequences) * layout.rows_bytes());
    key_values_ = memory_.as<float>();
    inputs_ = key_values_ + key_value_floats;
    slots_ = memory_.data() + floats;
}

float* DraftBuffers::key_values(int layer, int which, int row) const {
    return key_values_ + (int64_t{2 * layer + which} * max_rows_ + row) * kv_width_;
}

GdnDrafts DraftBuffers::gdn(int layer, int sequence, int row) const {
    std::byte* slots = slots_ + static_cast<size_t>(sequence) * layout_->rows_bytes();
    const GdnPageState page = layout_->page(layer, nullptr, nullptr, slots);
    return {.inputs = inputs_ + (int64_t{layer} * max_rows_ + row) * conv_width_,
            .keys = page.keys,
            .deltas = page.deltas,
            .log_decays = page.log_decays};
}

}  // namespace colugo
