// The weights of a model in memory, named as Hugging Face names them, and how they are loaded from a checkpoint folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compute_mode.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/linear_weight.h"
#include "checkpoint/model_config.h"
#include "checkpoint/quantization_config.h"

namespace colugo {

struct MlpWeights {
    LinearWeight gate_proj;  // [intermediate_size, hidden_size]
    LinearWeight up_proj;    // [intermediate_size, hidden_size]
    LinearWeight down_proj;  // [hidden_size, intermediate_size]
};

struct GdnWeights {
    LinearWeight in_proj_qkv;          // [conv_dim, hidden_size], rows q, k, v
    LinearWeight in_proj_z;            // [value_dim, hidden_size]
    LinearWeight in_proj_b;            // [linear_num_value_heads, hidden_size]
    LinearWeight in_proj_a;            // [linear_num_value_heads, hidden_size]
    LinearWeight out_proj;             // [hidden_size, value_dim]
    std::vector<float> conv1d;         // [linear_conv_kernel_dim][conv_dim], oldest input first
    std::vector<float> neg_exp_a_log;  // [linear_num_value_heads] -exp(A_log)
    std::vector<float> dt_bias;        // [linear_num_value_heads]
    std::vector<float> norm;           // [linear_value_head_dim]
};

struct AttentionWeights {
    LinearWeight q_proj;        // [num_attention_heads * 2 * head_dim, hidden_size]: per head query rows, gate rows
    LinearWeight k_proj;        // [num_key_value_heads * head_dim, hidden_size]
    LinearWeight v_proj;        // [num_key_value_heads * head_dim, hidden_size]
    LinearWeight o_proj;        // [hidden_size, num_attention_heads * head_dim]
    std::vector<float> q_norm;  // [head_dim]
    std::vector<float> k_norm;  // [head_dim]
    float k_scale = 1.0f;       // of an fp8 cache: what is stored is key / k_scale
    float v_scale = 1.0f;
};

struct LayerWeights {
    std::vector<float> input_layernorm;           // [hidden_size]
    std::vector<float> post_attention_layernorm;  // [hidden_size]
    std::optional<GdnWeights> linear_attn;        // exactly one of the two, by layer_types
    std::optional<AttentionWeights> self_attn;
    MlpWeights mlp;
};

struct MtpWeights {
    LinearWeight fc;                           // [hidden_size, 2 * hidden_size], embedding half first
    std::vector<float> pre_fc_norm_embedding;  // [hidden_size]
    std::vector<float> pre_fc_norm_hidden;     // [hidden_size]
    std::vector<float> norm;                   // [hidden_size]
    LayerWeights layer;                        // full attention
};

struct ModelWeights {
    LinearWeight embed_tokens;  // [vocab_size, hidden_size] bf16 or f32, read by row
    std::vector<LayerWeights> layers;
    std::vector<float> norm;              // [hidden_size]
    std::optional<LinearWeight> lm_head;  // [vocab_size, hidden_size]; absent where the head is the embedding
    std::optional<MtpWeights> mtp;

    const LinearWeight& head() const { return lm_head ? *lm_head : embed_tokens; }
};

struct LoadOptions {
    ComputeMode compute = ComputeMode::bf16;
    bool with_mtp = true;
    // Bytes of the files read so far and in all; called on the loading thread after each module. May be empty.
    std::function<void(uint64_t done, uint64_t total)> progress = nullptr;
};

struct ModuleReport {
    std::string name;  // in the files
    WeightScheme scheme;
    kernels::WeightFormat format;
    kernels::ActivationFormat activation;
    int n, k;
    uint64_t file_bytes;
    uint64_t packed_bytes;  // in memory
};

struct LoadReport {
    std::vector<ModuleReport> modules;  // linear layers, embedding and head
    uint64_t file_bytes = 0;            // of all tensors that are read
    uint64_t memory_bytes = 0;          // of all weights in memory
    bool tied_head = false;             // the head is the embedding
    bool has_mtp = false;
    std::string kv_cache_algo;         // what the checkpoint declares (QuantizationConfig::kv_cache_algo)
    std::vector<std::string> ignored;  // names of tensors that are not used
    std::vector<std::string> notices;  // a sentence each, for the user
};

struct LoadedWeights {
    ModelWeights weights;
    LoadReport report;
};

class WeightPlan;

// A checkpoint's weights, part by part: for whoever cannot hold a whole model.
class WeightLoader {
 public:
    // From the headers alone. Borrows the files and the configuration. Throws what load_weights throws.
    WeightLoader(const CheckpointFiles& files, const ModelConfig& config, const QuantizationConfig& quantization,
                 const LoadOptions& options);
    ~WeightLoader();

    // As plan_weights gives it.
    const LoadReport& report() const;
    // Complete where parts have been loaded.
    const ModelWeights& weights() const;
    // A linear layer's place in weights(), and where it is stored, by its bare name.
    const LinearWeight& linear(std::string_view module) const;
    const StoredTensor& stored(std::string_view module) const;
    // All whose bare names begin with `prefix`: "model.layers.7.", "model.norm.", "mtp.".
    void load(std::string_view prefix, ThreadPool& threads);
    void unload(std::string_view prefix);

 private:
    std::unique_ptr<WeightPlan> plan_;
};

// Every tensor the configuration asks for is read, every other is named as ignored or, inside a module that is used,
// refused. Memory grows by the weights' own size and a few panels. Throws invalid_file, unsupported or
// resource_exhausted naming the tensor, and what the parts throw.
LoadedWeights load_weights(const CheckpointFiles& files, const ModelConfig& config,
                           const QuantizationConfig& quantization, const LoadOptions& options, ThreadPool& threads);

// The report load_weights would give, from the headers alone. What only the values show is missing: scales out of
// range, and whether a tied checkpoint's own lm_head equals its embedding (it counts as a head of its own).
LoadReport plan_weights(const CheckpointFiles& files, const ModelConfig& config, const QuantizationConfig& quantization,
                        const LoadOptions& options);

}  // namespace colugo
