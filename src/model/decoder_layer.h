// The two kinds of layer, as the paper draws them: x += mixer(norm(x)); x += mlp(norm(x)).
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/weights.h"

namespace colugo {

// Memory for what lives inside one layer, handed out in order and taken back whole.
class Arena {
 public:
    Arena() = default;
    explicit Arena(size_t bytes) : memory_(bytes) {}
    void clear() { used_ = 0; }
    // [rows, cols] f32
    TensorView take(int64_t rows, int64_t cols);

 private:
    Buffer memory_;
    size_t used_ = 0;
};

// What the layers of one pass share.
struct LayerContext {
    Backend& backend;
    const ModelConfig& config;
    Arena& arena;
    TensorView normed;   // [rows, hidden_size] scratch
    TensorView cos_sin;  // [rows, rotary_dim]
    kernels::KvType kv_type;
};

AttentionShape attention_shape(const ModelConfig& config, kernels::KvType kv_type, const KvSlice& slice);

// theta^(-2 i / rotary_dim), i < rotary_dim / 2
std::vector<float> inverse_frequencies(const ModelConfig& config);

// Floats of Arena a layer needs for each row, whatever its kind.
int64_t layer_arena_floats(const ModelConfig& config);

// x [rows, hidden_size] f32, the residual stream.
void gdn_layer(const LayerContext& context, TensorView x, const LayerWeights& weights,
               std::span<const GdnSequence> sequences);
void attention_layer(const LayerContext& context, TensorView x, const LayerWeights& weights, const KvSlice& slice,
                     std::span<const AttentionSequence> sequences);
// Only the keys and values `attention_layer` would store: all that later rows need of a row nobody reads the output of.
void attention_keys(const LayerContext& context, TensorView x, const LayerWeights& weights, const KvSlice& slice,
                    std::span<const AttentionSequence> sequences);

// The MTP head's input (qwen35.md 4.1). x [rows, hidden_size]: the tokens' embeddings in, fc(norm(embedding) ++
// norm(hidden)) out. hidden [rows, hidden_size]: of the position before each row. concat: [rows, 2 hidden_size]
// scratch.
void mtp_input(Backend& backend, const ModelConfig& config, const MtpWeights& weights, TensorView x, TensorView hidden,
               TensorView concat);

}  // namespace colugo
