#include "checkpoint/model_config.h"

#include <nlohmann/json.hpp>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using nlohmann::json;

// The published configuration of a 4B model, without what a text runtime does not read.
json text_config() {
    return json::parse(R"({"model_type":"qwen3_5_text","vocab_size":248320,"hidden_size":2560,"intermediate_size":9216,
        "num_hidden_layers":8,"num_attention_heads":16,"num_key_value_heads":4,"head_dim":256,"attn_output_gate":true,
        "attention_bias":false,"full_attention_interval":4,"linear_num_key_heads":16,"linear_num_value_heads":32,
        "linear_key_head_dim":128,"linear_value_head_dim":128,"linear_conv_kernel_dim":4,"rms_norm_eps":1e-06,
        "hidden_act":"silu","rope_parameters":{"rope_type":"default","rope_theta":10000000,"partial_rotary_factor":0.25,
        "mrope_section":[11,11,10],"mrope_interleaved":true},"max_position_embeddings":262144,"dtype":"bfloat16",
        "eos_token_id":248044,"mtp_num_hidden_layers":1,"tie_word_embeddings":true})");
}

ModelConfig parse(const json& config) {
    return parse_model_config(config.dump(), "c");
}

TEST(ModelConfig, ReadsTheFlatForm) {
    const ModelConfig config = parse(text_config());
    EXPECT_EQ(config.model_type, "qwen3_5_text");
    EXPECT_EQ(config.vocab_size, 248320);
    EXPECT_EQ(config.hidden_size, 2560);
    EXPECT_EQ(config.key_dim(), 2048);
    EXPECT_EQ(config.value_dim(), 4096);
    EXPECT_EQ(config.conv_dim(), 8192);
    EXPECT_EQ(config.rotary_dim(), 64);
    EXPECT_EQ(config.rope_theta, 1e7);
    EXPECT_EQ(config.mtp_num_hidden_layers, 1);
    EXPECT_EQ(config.tie_word_embeddings, true);
    EXPECT_EQ(config.dtype, "bfloat16");
    EXPECT_EQ(config.eos_token_id, std::vector<int64_t>{248044});
    ASSERT_EQ(config.layer_types.size(), 8u);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(config.layer_types[i] == LayerType::full_attention, i == 3 || i == 7) << i;
}

TEST(ModelConfig, ReadsTheNestedForm) {
    json text = text_config();
    text.erase("tie_word_embeddings");
    text.erase("mtp_num_hidden_layers");
    json config = {{"model_type", "qwen3_5"}, {"text_config", text}, {"vision_config", {{"hidden_size", 7}}}};
    EXPECT_EQ(parse(config).hidden_size, 2560);
    EXPECT_EQ(parse(config).tie_word_embeddings, std::nullopt);
    EXPECT_EQ(parse(config).mtp_num_hidden_layers, std::nullopt);
    config["tie_word_embeddings"] = true;
    config["mtp_num_hidden_layers"] = 1;
    EXPECT_EQ(parse(config).tie_word_embeddings, true);
    EXPECT_EQ(parse(config).mtp_num_hidden_layers, 1);
    config["text_config"]["tie_word_embeddings"] = false;
    EXPECT_EQ(parse(config).tie_word_embeddings, false);
}

TEST(ModelConfig, FillsInDefaults) {
    json config = text_config();
    for (const char* key : {"head_dim", "attn_output_gate", "attention_bias", "full_attention_interval", "hidden_act",
                            "linear_num_key_heads", "linear_key_head_dim", "linear_value_head_dim", "rms_norm_eps",
                            "linear_conv_kernel_dim", "rope_parameters", "max_position_embeddings", "dtype"}) {
        config.erase(key);
    }
    const ModelConfig result = parse(config);
    EXPECT_EQ(result.head_dim, 256);
    EXPECT_EQ(result.rotary_dim(), 64);
    EXPECT_EQ(result.linear_conv_kernel_dim, 4);
    EXPECT_EQ(result.rms_norm_eps, 1e-6);
    EXPECT_EQ(result.max_position_embeddings, 262144);
    EXPECT_EQ(result.layer_types[3], LayerType::full_attention);
    config["partial_rotary_factor"] = 0.5;  // beside rope_parameters, as some publishers write it
    EXPECT_EQ(parse(config).rotary_dim(), 128);
}

TEST(ModelConfig, LayerTypesWinOverTheInterval) {
    json config = text_config();
    config["num_hidden_layers"] = 2;
    config["layer_types"] = {"full_attention", "linear_attention"};
    EXPECT_EQ(parse(config).layer_types[0], LayerType::full_attention);
    EXPECT_EQ(parse(config).layer_types[1], LayerType::linear_attention);
}

struct Refusal {
    const char* patch;  // merged into the configuration; null takes a key out
    ErrorCode code;
    const char* words;
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
    *out << refusal.patch;
}

class RefusedConfig : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedConfig, IsNamed) {
    json config = text_config();
    config.merge_patch(json::parse(GetParam().patch));
    EXPECT_ERROR(GetParam().code, GetParam().words, parse(config));
}

constexpr ErrorCode kInvalid = ErrorCode::invalid_file;
constexpr ErrorCode kUnsupported = ErrorCode::unsupported;

INSTANTIATE_TEST_SUITE_P(
    All, RefusedConfig,
    ::testing::Values(
        Refusal{R"({"model_type":"llama"})", kUnsupported,
                "c: model_type 'llama' is not supported; accepted: qwen3_5 and"},
        Refusal{R"({"model_type":"qwen3_5_moe_text"})", kUnsupported, "'qwen3_5_moe_text' is a mixture of experts"},
        Refusal{R"({"model_type":null})", kInvalid, "c: model_type is missing"},
        Refusal{R"({"text_config":{"model_type":"qwen3_next"}})", kUnsupported, "text_config.model_type 'qwen3_next'"},
        Refusal{R"({"text_config":[]})", kInvalid, "c: text_config is []; expected an object"},
        Refusal{R"({"num_experts":256})", kUnsupported, "mixture of experts"},
        Refusal{R"({"hidden_size":-2560})", kInvalid, "c: hidden_size is -2560; expected a whole number from 16"},
        Refusal{R"({"hidden_size":0})", kInvalid, "hidden_size is 0"},
        Refusal{R"({"hidden_size":2560.0})", kInvalid, "hidden_size is 2560.0; expected a whole number"},
        Refusal{R"({"hidden_size":"2560"})", kInvalid, "hidden_size is \"2560\""},
        Refusal{R"({"hidden_size":true})", kInvalid, "hidden_size is true"},
        Refusal{R"({"hidden_size":null})", kInvalid, "hidden_size is missing"},
        Refusal{R"({"hidden_size":2561})", kInvalid, "hidden_size is 2561; expected a multiple of 16"},
        Refusal{R"({"hidden_size":4611686018427387904})", kInvalid, "hidden_size is 4611686018427387904"},
        Refusal{R"({"vocab_size":99999999999999999999})", kInvalid, "vocab_size is "},
        Refusal{R"({"intermediate_size":-1})", kInvalid, "intermediate_size is -1"},
        Refusal{R"({"num_hidden_layers":0})", kInvalid, "num_hidden_layers is 0"},
        Refusal{R"({"num_hidden_layers":1000000000})", kInvalid, "num_hidden_layers is 1000000000"},
        Refusal{R"({"num_attention_heads":15})", kInvalid,
                "num_attention_heads is 15; expected a multiple of num_key_value_heads, which is 4"},
        Refusal{R"({"num_key_value_heads":0})", kInvalid, "num_key_value_heads is 0"},
        Refusal{R"({"head_dim":255})", kInvalid, "head_dim is 255; expected a multiple of 16"},
        Refusal{R"({"head_dim":512})", kInvalid, "head_dim is 512; expected a whole number from 16 to 256"},
        Refusal{R"({"linear_num_value_heads":24})", kInvalid,
                "linear_num_value_heads is 24; expected a multiple of linear_num_key_heads, which is 16"},
        Refusal{R"({"linear_key_head_dim":100})", kInvalid, "linear_key_head_dim is 100"},
        Refusal{R"({"linear_conv_kernel_dim":1})", kInvalid,
                "linear_conv_kernel_dim is 1; expected a whole number from 2 to 8"},
        Refusal{R"({"linear_conv_kernel_dim":9})", kInvalid, "linear_conv_kernel_dim is 9"},
        Refusal{R"({"full_attention_interval":0})", kInvalid, "full_attention_interval is 0"},
        Refusal{R"({"layer_types":["full_attention"]})", kInvalid, "layer_types has 1 entries, num_hidden_layers is 8"},
        Refusal{R"({"num_hidden_layers":1,"layer_types":["sliding_attention"]})", kUnsupported, "'sliding_attention'"},
        Refusal{R"({"layer_types":5})", kInvalid, "layer_types is 5; expected a list of strings"},
        Refusal{R"({"hidden_act":"gelu"})", kUnsupported, "hidden_act 'gelu' is not supported; accepted: silu"},
        Refusal{R"({"attention_bias":true})", kUnsupported,
                "attention_bias is true, which is not supported; accepted: false"},
        Refusal{R"({"attn_output_gate":false})", kUnsupported, "attn_output_gate is false"},
        Refusal{R"({"output_gate_type":"sigmoid"})", kUnsupported, "output_gate_type 'sigmoid'"},
        Refusal{R"({"mtp_num_hidden_layers":2})", kInvalid,
                "mtp_num_hidden_layers is 2; expected a whole number from 0 to 1"},
        Refusal{R"({"mtp_use_dedicated_embeddings":true})", kUnsupported, "mtp_use_dedicated_embeddings is true"},
        Refusal{R"({"rope_parameters":{"rope_type":"yarn","factor":4.0}})", kUnsupported,
                "c: rope_parameters.rope_type 'yarn' is not supported; accepted: default"},
        Refusal{R"({"rope_scaling":{"type":"linear","factor":2}})", kUnsupported, "rope_scaling.type 'linear'"},
        Refusal{R"({"rope_parameters":{"rope_theta":-1}})", kInvalid, "rope_parameters.rope_theta is -1"},
        Refusal{R"({"rope_parameters":{"partial_rotary_factor":1.5}})", kInvalid, "partial_rotary_factor is 1.5"},
        Refusal{R"({"rope_parameters":{"partial_rotary_factor":0.3}})", kInvalid, "rotates 76.8 of head_dim 256"},
        Refusal{R"({"rope_parameters":{"partial_rotary_factor":0.0}})", kInvalid, "rotates 0 of head_dim 256"},
        Refusal{R"({"rms_norm_eps":0})", kInvalid, "rms_norm_eps is 0"},
        Refusal{R"({"max_position_embeddings":-5})", kInvalid, "max_position_embeddings is -5"},
        Refusal{R"({"tie_word_embeddings":"yes"})", kInvalid, "tie_word_embeddings is \"yes\"; expected true or false"},
        Refusal{R"({"eos_token_id":[1,"x"]})", kInvalid, "eos_token_id is [1,\"x\"]"}));

TEST(ModelConfig, FolderWithoutOneIsNamed) {
    const testing::TempFolder folder;
    EXPECT_ERROR(ErrorCode::not_found, "config.json does not exist", read_model_config(folder.path()));
    folder.write("config.json", "{");
    EXPECT_ERROR(ErrorCode::invalid_file, "config.json is not JSON", read_model_config(folder.path()));
}

}  // namespace
}  // namespace colugo
