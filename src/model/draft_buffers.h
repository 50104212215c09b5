// What a pass keeps of draft rows, of every layer, until one path of them is committed or the next pass begins.
#pragma once

#include "base/buffer.h"
#include "model/recurrent_layout.h"

namespace colugo {

class DraftBuffers {
 public:
    DraftBuffers() = default;
    // attention_layers: the MTP head's included. max_rows: of one pass, max_sequences: that have draft rows in it.
    DraftBuffers(const ModelConfig& config, const RecurrentLayout& layout, int attention_layers, int max_rows,
                 int max_sequences);

    int max_rows() const { return max_rows_; }
    int max_sequences() const { return max_sequences_; }
    size_t bytes() const { return memory_.size(); }

    // [rows, num_kv_heads * head_dim] from the pass's draft row `row` on.
    float* keys(int layer, int row) const { return key_values(layer, 0, row); }
    float* values(int layer, int row) const { return key_values(layer, 1, row); }
    // Of the draft rows from `row` on of the pass's sequence `sequence`.
    GdnDrafts gdn(int layer, int sequence, int row) const;

 private:
    float* key_values(int layer, int which, int row) const;

    const RecurrentLayout* layout_ = nullptr;
    int max_rows_ = 0, max_sequences_ = 0;
    int64_t kv_width_ = 0, conv_width_ = 0;
    Buffer memory_;
    // Where in memory_: [attention layer][2][max_rows, kv width], [gdn layer][max_rows, conv width], [sequence] rows.
    float* key_values_ = nullptr;
    float* inputs_ = nullptr;
    std::byte* slots_ = nullptr;
};

}  // namespace colugo
