// config.json of the Qwen3.5/3.6 dense hybrid family (qwen35.md 1), with Hugging Face's names. Every value has been
// checked: sizes are positive and small enough that products of any two fit in 63 bits, multiples hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

enum class LayerType : uint8_t { linear_attention, full_attention };

struct ModelConfig {
    std::string model_type;  // as the file gives it: "qwen3_5" (vision wrapper) or "qwen3_5_text"
    int64_t vocab_size = 0;  // rows of the embedding; the last ones may belong to no token
    int64_t hidden_size = 0;
    int64_t intermediate_size = 0;
    int64_t num_hidden_layers = 0;
    std::vector<LayerType> layer_types;  // [num_hidden_layers]

    int64_t num_attention_heads = 0;
    int64_t num_key_value_heads = 0;  // divides num_attention_heads
    int64_t head_dim = 256;           // independent of hidden_size
    double rope_theta = 1e7;
    double partial_rotary_factor = 0.25;
    int64_t max_position_embeddings = 262144;

    int64_t linear_num_key_heads = 16;
    int64_t linear_num_value_heads = 0;  // a multiple of linear_num_key_heads
    int64_t linear_key_head_dim = 128;
    int64_t linear_value_head_dim = 128;
    int64_t linear_conv_kernel_dim = 4;

    double rms_norm_eps = 1e-6;
    std::optional<bool> tie_word_embeddings;       // absent: whether there is an lm_head.weight decides
    std::optional<int64_t> mtp_num_hidden_layers;  // 0 or 1; absent: whether there are mtp tensors decides
    std::string dtype;                             // what the publisher calls the storage type; may be empty
    std::vector<int64_t> eos_token_id;             // may be empty; the generation config names more

    int64_t rotary_dim() const;  // even, at most head_dim
    int64_t key_dim() const { return linear_num_key_heads * linear_key_head_dim; }
    int64_t value_dim() const { return linear_num_value_heads * linear_value_head_dim; }
    int64_t conv_dim() const { return 2 * key_dim() + value_dim(); }
};

// `source` is what errors call the text. Throws invalid_file for a field that is missing, malformed or out of range,
// unsupported for a model or a variant this program does not run, named with what it accepts.
ModelConfig parse_model_config(std::string_view text, const std::string& source);
// config.json of a checkpoint folder; not_found when it is not there.
ModelConfig read_model_config(const std::string& directory);

// The text of a folder's config.json; not_found when it is not there.
std::string read_config_json(const std::string& directory);

}  // namespace colugo
