#include "checkpoint/model_config.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/json_reader.h"
#include "kernels/kernel_table.h"

namespace colugo {

namespace {

// Far above any model of the family, far below what could overflow a product of two in 63 bits or a size in an int.
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxVocab = int64_t{1} << 22;
constexpr int64_t kMaxHeads = 1024;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxContext = int64_t{1} << 24;
constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;

constexpr const char* kAccepted = "accepted: qwen3_5 and qwen3_5_text";

void check_model_type(const std::string& model_type, const std::string& where) {
    if (model_type == "qwen3_5" || model_type == "qwen3_5_text") return;
    if (model_type == "qwen3_5_moe" || model_type == "qwen3_5_moe_text") {
        fail(ErrorCode::unsupported, "{} '{}' is a mixture of experts, which is not supported; {}", where, model_type,
             kAccepted);
    }
    fail(ErrorCode::unsupported, "{} '{}' is not supported; {}", where, model_type, kAccepted);
}

// A switch that has to stay at the one value the forward pass is written for.
void check_switch(const JsonFields& config, const char* key, bool accepted) {
    const std::optional<bool> value = config.boolean(key);
    if (value && *value != accepted) {
        fail(ErrorCode::unsupported, "{} is {}, which is not supported; accepted: {}", config.where(key), *value,
             accepted);
    }
}

void check_variants(const JsonFields& config) {
    check_switch(config, "attention_bias", false);
    check_switch(config, "attn_output_gate", true);
    check_switch(config, "mtp_use_dedicated_embeddings", false);
    if (config.integer("num_experts", 0, kMaxWidth).value_or(0) > 0) {
        fail(ErrorCode::unsupported, "{} is more than 0: a mixture of experts is not supported",
             config.where("num_experts"));
    }
    const std::string act = config.string("hidden_act").value_or("silu");
    if (act != "silu" && act != "swish") {
        fail(ErrorCode::unsupported, "{} '{}' is not supported; accepted: silu", config.where("hidden_act"), act);
    }
    const std::string gate = config.string("output_gate_type").value_or("swish");
    if (gate != "swish" && gate != "silu") {
        fail(ErrorCode::unsupported, "{} '{}' is not supported; accepted: swish", config.where("output_gate_type"),
             gate);
    }
}

void check_rope_type(const JsonFields& rope) {
    for (const char* key : {"rope_type", "type"}) {
        const std::string type = rope.string(key).value_or("default");
        if (type != "default" && type != "mrope") {  // mrope is the older word for the same thing with text positions
            fail(ErrorCode::unsupported, "{} '{}' is not supported; accepted: default", rope.where(key), type);
        }
    }
}

void read_rope(const JsonFields& config, ModelConfig& result) {
    constexpr double kMaxTheta = 1e15;
    if (const auto scaling = config.object("rope_scaling")) check_rope_type(*scaling);
    const std::optional<JsonFields> rope = config.object("rope_parameters");
    if (rope) check_rope_type(*rope);
    // The nested value wins over one written directly in the configuration.
    for (const std::optional<JsonFields>& fields : {std::optional(config), rope}) {
        if (!fields) continue;
        result.rope_theta = fields->number("rope_theta", 1.0, kMaxTheta).value_or(result.rope_theta);
        result.partial_rotary_factor =
            fields->number("partial_rotary_factor", 0.0, 1.0).value_or(result.partial_rotary_factor);
    }
    const double width = static_cast<double>(result.head_dim) * result.partial_rotary_factor;
    if (width != std::floor(width) || result.rotary_dim() % 2 != 0 || result.rotary_dim() < 2) {
        fail(ErrorCode::invalid_file, "{} is {}, which rotates {} of head_dim {}; expected an even number from 2",
             (rope ? *rope : config).where("partial_rotary_factor"), result.partial_rotary_factor, width,
             result.head_dim);
    }
}

void read_layer_types(const JsonFields& config, ModelConfig& result) {
    const auto types = config.strings("layer_types");
    const int64_t interval = config.integer("full_attention_interval", 1, kMaxLayers).value_or(4);
    if (types && static_cast<int64_t>(types->size()) != result.num_hidden_layers) {
        fail(ErrorCode::invalid_file, "{} has {} entries, num_hidden_layers is {}", config.where("layer_types"),
             types->size(), result.num_hidden_layers);
    }
    for (int64_t layer = 0; layer < result.num_hidden_layers; ++layer) {
        bool full = (layer + 1) % interval == 0;
        if (types) {
            const std::string& type = (*types)[static_cast<size_t>(layer)];
            full = type == "full_attention";
            if (!full && type != "linear_attention") {
                fail(ErrorCode::unsupported,
                     "{} holds '{}', which is not supported; accepted: linear_attention and "
                     "full_attention",
                     config.where("layer_types"), type);
            }
        }
        result.layer_types.push_back(full ? LayerType::full_attention : LayerType::linear_attention);
    }
}

void check_multiple(const JsonFields& config, const char* key, int64_t value, const std::string& of, int64_t factor) {
    if (value % factor == 0) return;
    fail(ErrorCode::invalid_file, "{} is {}; expected a multiple of {}", config.where(key), value,
         of.empty() ? std::to_string(factor) : fmt::format("{}, which is {}", of, factor));
}

void read_attention(const JsonFields& config, ModelConfig& result) {
    result.num_attention_heads = config.required_integer("num_attention_heads", 1, kMaxHeads);
    result.num_key_value_heads = config.required_integer("num_key_value_heads", 1, kMaxHeads);
    result.head_dim = config.integer("head_dim", 16, kernels::kMaxHeadDim).value_or(result.head_dim);
    check_multiple(config, "num_attention_heads", result.num_attention_heads, "num_key_value_heads",
                   result.num_key_value_heads);
    check_multiple(config, "head_dim", result.head_dim, "", 16);
    const int64_t ratio = result.num_attention_heads / result.num_key_value_heads;
    if (ratio > kernels::kMaxAttentionRows) {
        fail(ErrorCode::unsupported, "{} is {} times num_key_value_heads; accepted: up to {} times",
             config.where("num_attention_heads"), ratio, kernels::kMaxAttentionRows);
    }
    result.max_position_embeddings =
        config.integer("max_position_embeddings", 1, kMaxContext).value_or(result.max_position_embeddings);
    read_rope(config, result);
}

void read_linear_attention(const JsonFields& config, ModelConfig& result) {
    constexpr int64_t kMaxLinearHeadDim = 256;  // of the kernels (GdnPage)
    result.linear_num_key_heads =
        config.integer("linear_num_key_heads", 1, kMaxHeads).value_or(result.linear_num_key_heads);
    result.linear_num_value_heads = config.required_integer("linear_num_value_heads", 1, kMaxHeads);
    check_multiple(config, "linear_num_value_heads", result.linear_num_value_heads, "linear_num_key_heads",
                   result.linear_num_key_heads);
    result.linear_key_head_dim =
        config.integer("linear_key_head_dim", 16, kMaxLinearHeadDim).value_or(result.linear_key_head_dim);
    result.linear_value_head_dim =
        config.integer("linear_value_head_dim", 16, kMaxLinearHeadDim).value_or(result.linear_value_head_dim);
    check_multiple(config, "linear_key_head_dim", result.linear_key_head_dim, "", 16);
    check_multiple(config, "linear_value_head_dim", result.linear_value_head_dim, "", 16);
    result.linear_conv_kernel_dim =
        config.integer("linear_conv_kernel_dim", 2, 8).value_or(result.linear_conv_kernel_dim);
}

std::vector<int64_t> read_ids(const JsonFields& config, const char* key) {
    constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();
    const nlohmann::json* value = config.get(key);
    if (!value) return {};
    if (!value->is_array()) return {config.required_integer(key, 0, kMaxId)};
    std::vector<int64_t> ids;
    for (const nlohmann::json& id : *value) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() > static_cast<uint64_t>(kMaxId)) {
            config.refuse(key, "a token id or a list of token ids");
        }
        ids.push_back(id.get<int64_t>());
    }
    return ids;
}

ModelConfig read_text_config(const JsonFields& top, const JsonFields& config) {
    ModelConfig result;
    check_variants(config);
    result.model_type = *top.string("model_type");
    result.vocab_size = config.required_integer("vocab_size", 1, kMaxVocab);
    result.hidden_size = config.required_integer("hidden_size", 16, kMaxWidth);
    result.intermediate_size = config.required_integer("intermediate_size", 16, kMaxWidth);
    check_multiple(config, "hidden_size", result.hidden_size, "", 16);
    check_multiple(config, "intermediate_size", result.intermediate_size, "", 16);
    result.num_hidden_layers = config.required_integer("num_hidden_layers", 1, kMaxLayers);
    read_layer_types(config, result);
    read_attention(config, result);
    read_linear_attention(config, result);
    result.rms_norm_eps = config.number("rms_norm_eps", 1e-12, 1e-1).value_or(result.rms_norm_eps);

    // Some publishers write these two beside text_config instead of in it.
    result.tie_word_embeddings = config.boolean("tie_word_embeddings");
    if (!result.tie_word_embeddings) result.tie_word_embeddings = top.boolean("tie_word_embeddings");
    result.mtp_num_hidden_layers = config.integer("mtp_num_hidden_layers", 0, 1);
    if (!result.mtp_num_hidden_layers) result.mtp_num_hidden_layers = top.integer("mtp_num_hidden_layers", 0, 1);

    for (const char* key : {"dtype", "torch_dtype"}) {
        if (result.dtype.empty()) result.dtype = config.string(key).value_or("");
        if (result.dtype.empty()) result.dtype = top.string(key).value_or("");
    }
    result.eos_token_id = read_ids(config, "eos_token_id");
    return result;
}

}  // namespace

int64_t ModelConfig::rotary_dim() const {
    return static_cast<int64_t>(static_cast<double>(head_dim) * partial_rotary_factor);
}

ModelConfig parse_model_config(std::string_view text, const std::string& source) {
    const nlohmann::json document = parse_json_object(text, source);
    const JsonFields top(document, source);
    const std::optional<std::string> model_type = top.string("model_type");
    if (!model_type) top.refuse("model_type", "qwen3_5 or qwen3_5_text");
    check_model_type(*model_type, top.where("model_type"));
    const std::optional<JsonFields> nested = top.object("text_config");
    if (!nested) return read_text_config(top, top);
    if (const auto nested_type = nested->string("model_type")) {
        check_model_type(*nested_type, nested->where("model_type"));
    }
    return read_text_config(top, *nested);
}

std::string read_config_json(const std::string& directory) {
    auto text = read_text_file(directory + "/config.json", kMaxConfigBytes);
    if (!text) fail(ErrorCode::not_found, "{}/config.json does not exist; expected a checkpoint folder", directory);
    return std::move(*text);
}

ModelConfig read_model_config(const std::string& directory) {
    return parse_model_config(read_config_json(directory), directory + "/config.json");
}

}  // namespace colugo
