// The recurrent state of one sequence at one position, all Gated DeltaNet layers together, in three pieces that change
// hands at different times:
//   border  S at the last page border, read by every row until the next one
//   rows    what each row since the border has added: normalized k, delta, cumulative log decay
//   tail    the convolutions' last inputs, and the trunk's hidden that the MTP head pairs with the next token
#pragma once

#include "backend/backend.h"
#include "checkpoint/weights.h"

namespace colugo {

GdnShape gdn_shape(const ModelConfig& config);

class RecurrentLayout {
 public:
    explicit RecurrentLayout(const ModelConfig& config);

    int num_layers() const { return num_layers_; }
    size_t border_bytes() const { return static_cast<size_t>(num_layers_) * border_floats_ * sizeof(float); }
    size_t rows_bytes() const { return static_cast<size_t>(num_layers_) * rows_floats() * sizeof(float); }
    size_t tail_bytes() const { return (static_cast<size_t>(num_layers_) * window_floats_ + hidden_) * sizeof(float); }

    // One layer's part; `layer` counts Gated DeltaNet layers only.
    GdnPageState page(int layer, const std::byte* border, std::byte* next_border, std::byte* rows) const;
    float* window(int layer, std::byte* tail) const;
    // [hidden_size] f32
    float* pending_hidden(std::byte* tail) const;

 private:
    size_t rows_floats() const { return keys_floats_ + deltas_floats_ + decays_floats_; }

    int num_layers_;
    // Of one layer.
    size_t border_floats_, keys_floats_, deltas_floats_, decays_floats_, window_floats_;
    size_t hidden_;
};

}  // namespace colugo
