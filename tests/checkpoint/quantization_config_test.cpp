#include "checkpoint/quantization_config.h"

#include <nlohmann/json.hpp>

#include "checkpoint/tensor_index.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using nlohmann::json;

QuantizationConfig from_config(const char* quantization) {
    return QuantizationConfig(std::string("{\"quantization_config\":") + quantization + "}", std::nullopt);
}

QuantizationConfig from_file(const std::string& quantization) {
    return QuantizationConfig("{}", "{\"producer\":{\"name\":\"modelopt\"},\"quantization\":" + quantization + "}");
}

QuantAlgo algo(const QuantizationConfig& config, const std::string& module) {
    return config.declared(module_names(module)).algo;
}

TEST(BareNames, StripEveryWrapper) {
    EXPECT_EQ(bare_name("model.language_model.layers.0.mlp.up_proj.weight"), "model.layers.0.mlp.up_proj.weight");
    EXPECT_EQ(bare_name("language_model.model.norm.weight"), "model.norm.weight");
    EXPECT_EQ(bare_name("model.mtp.fc.weight"), "mtp.fc.weight");
    EXPECT_EQ(bare_name("model.language_model.mtp.fc.weight"), "mtp.fc.weight");
    EXPECT_EQ(bare_name("language_model.lm_head.weight"), "lm_head.weight");
    EXPECT_EQ(bare_name("model.visual.merger.norm.weight"), "model.visual.merger.norm.weight");
    EXPECT_EQ(bare_name("my_language_model.x"), "my_language_model.x");
}

TEST(QuantizationConfig, NothingDeclared) {
    EXPECT_TRUE(QuantizationConfig("{}", std::nullopt).empty());
    EXPECT_TRUE(from_config("null").empty());
    EXPECT_EQ(algo(from_config("null"), "lm_head"), QuantAlgo::none);
}

TEST(QuantizationConfig, ModelOptUniform) {
    const QuantizationConfig config = from_file(R"({"quant_algo":"NVFP4","group_size":16,"kv_cache_quant_algo":"FP8",
        "exclude_modules":["lm_head","model.language_model.layers.0.linear_attn*","mtp*"]})");
    EXPECT_EQ(algo(config, "model.layers.0.mlp.up_proj"), QuantAlgo::nvfp4);
    EXPECT_EQ(algo(config, "model.layers.0.linear_attn.in_proj_qkv"), QuantAlgo::none);
    EXPECT_EQ(algo(config, "lm_head"), QuantAlgo::none);
    EXPECT_EQ(algo(config, "mtp.fc"), QuantAlgo::none);
    EXPECT_EQ(config.kv_cache_algo(), "FP8");
    EXPECT_FALSE(config.empty());
}

TEST(QuantizationConfig, ModelOptInsideConfigJson) {
    const QuantizationConfig config = from_config(R"({"quant_method":"modelopt","quant_algo":"W4A16_NVFP4",
        "ignore":["*linear_attn.in_proj_a"],"kv_cache_scheme":{"dynamic":false,"num_bits":8,"type":"float"}})");
    EXPECT_EQ(algo(config, "model.layers.3.mlp.up_proj"), QuantAlgo::w4a16);
    EXPECT_EQ(algo(config, "model.layers.3.linear_attn.in_proj_a"), QuantAlgo::none);
    EXPECT_EQ(config.kv_cache_algo(), "FP8");
}

TEST(QuantizationConfig, MixedPrecisionTakesTheLongestName) {
    const QuantizationConfig config = from_file(R"({"quant_algo":"MIXED_PRECISION","exclude_modules":["*lm_head*"],
        "quantized_layers":{"model.language_model.layers.0":{"quant_algo":"FP8"},
                            "model.language_model.layers.0.mlp":{"quant_algo":"W4A16_NVFP4","group_size":16},
                            "model.language_model.layers.0.mlp.up_proj":{"quant_algo":"NVFP4"},
                            "lm_head":{"quant_algo":"W4A16_NVFP4"}}})");
    EXPECT_EQ(algo(config, "model.layers.0.self_attn.q_proj"), QuantAlgo::fp8);
    EXPECT_EQ(algo(config, "model.layers.0.mlp.down_proj"), QuantAlgo::w4a16);
    EXPECT_EQ(algo(config, "model.layers.0.mlp.up_proj"), QuantAlgo::nvfp4);
    EXPECT_EQ(algo(config, "model.layers.1.mlp.up_proj"), QuantAlgo::none);
    EXPECT_EQ(algo(config, "lm_head"), QuantAlgo::w4a16);  // its own name beats a pattern that excludes it
    EXPECT_TRUE(config.declared(module_names("lm_head")).by_name);
    EXPECT_FALSE(config.declared(module_names("model.layers.0.mlp.down_proj")).by_name);
}

TEST(QuantizationConfig, CompressedTensors) {
    const QuantizationConfig config =
        from_config(R"({"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized",
        "ignore":["lm_head","re:.*linear_attn.in_proj.*"],"sparsity_config":{},"transform_config":{},
        "config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":4,"type":"float","group_size":16},
                                    "input_activations":{"num_bits":4,"type":"float","group_size":16,"dynamic":"local"}},
                         "group_1":{"targets":["re:.*down_proj"],"weights":{"num_bits":4,"type":"float","group_size":16},
                                    "input_activations":null}}})");
    EXPECT_EQ(algo(config, "model.layers.0.mlp.up_proj"), QuantAlgo::nvfp4);
    EXPECT_EQ(algo(config, "model.layers.0.mlp.down_proj"), QuantAlgo::w4a16);
    EXPECT_EQ(algo(config, "model.layers.0.linear_attn.in_proj_z"), QuantAlgo::none);
    EXPECT_EQ(algo(config, "lm_head"), QuantAlgo::none);
}

TEST(QuantizationConfig, Fp8) {
    const QuantizationConfig block = from_config(R"({"quant_method":"fp8","fmt":"e4m3","activation_scheme":"dynamic",
        "weight_block_size":[128,128],"modules_to_not_convert":["lm_head","model.layers.0.linear_attn"]})");
    EXPECT_EQ(algo(block, "model.layers.0.mlp.up_proj"), QuantAlgo::fp8_block);
    EXPECT_EQ(algo(block, "model.layers.0.linear_attn.in_proj_a"), QuantAlgo::none);
    EXPECT_EQ(algo(from_config(R"({"quant_method":"fp8","activation_scheme":"static"})"), "lm_head"), QuantAlgo::fp8);
}

TEST(QuantizationConfig, TheFileWinsAndHasToAgree) {
    const std::string config = R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}})";
    const QuantizationConfig both(config, R"({"quantization":{"quant_algo":"NVFP4","kv_cache_quant_algo":"FP8"}})");
    EXPECT_EQ(both.kv_cache_algo(), "FP8");
    EXPECT_THAT(both.notices(),
                ::testing::ElementsAre(::testing::HasSubstr("disagree about the cache ('FP8' and '')")));
    EXPECT_ERROR(ErrorCode::invalid_file,
                 "quant_algo is 'NVFP4' but hf_quant_config.json: quantization.quant_algo is 'FP8'",
                 QuantizationConfig(config, R"({"quantization":{"quant_algo":"FP8"}})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "quant_method is 'fp8'",
                 QuantizationConfig(R"({"quantization_config":{"quant_method":"fp8"}})",
                                    R"({"quantization":{"quant_algo":"FP8"}})"));
}

TEST(QuantizationConfig, UnknownCacheTypeIsNoticed) {
    const QuantizationConfig config = from_file(R"({"quant_algo":null,"kv_cache_quant_algo":"INT8"})");
    EXPECT_EQ(config.kv_cache_algo(), "INT8");
    EXPECT_THAT(config.notices(), ::testing::ElementsAre(::testing::HasSubstr("a cache of INT8")));
}

TEST(QuantizationConfig, RefusesTheUnknownByName) {
    const struct {
        const char* quantization;
        const char* words;
    } cases[] = {
        {R"({"quant_method":"gptq","bits":4})",
         "quantization_config.quant_method 'gptq' is not supported; accepted: modelopt"},
        {R"({"quant_method":"awq"})", "'awq'"},
        {R"({"quant_method":"bitsandbytes"})", "'bitsandbytes'"},
        {R"({"bits":4})", "quant_method '' is not supported"},
        {R"({"quant_method":"modelopt","quant_algo":"NVFP4_AWQ"})",
         "quant_algo 'NVFP4_AWQ' is not supported; accepted: NVFP4"},
        {R"({"quant_method":"modelopt","quant_algo":"W4A8_AWQ"})", "'W4A8_AWQ'"},
        {R"({"quant_method":"modelopt","quant_algo":"NVFP4","group_size":32})",
         "group_size 32 is not supported; accepted: 16"},
        {R"({"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"INT4"}}})",
         "quantized_layers.a.quant_algo 'INT4'"},
        {R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{}})",
         "format 'pack-quantized' is not supported; accepted: nvfp4-pack-quantized"},
        {R"({"quant_method":"compressed-tensors","transform_config":{"hadamard":1},"config_groups":{}})",
         "transform_config is {\"hadamard\":1}"},
        {R"({"quant_method":"compressed-tensors","sparsity_config":{"format":"sparse-24-bitmask"},"config_groups":{}})",
         "'sparse-24-bitmask'"},
        {R"({"quant_method":"compressed-tensors","config_groups":{"g":{"weights":{"num_bits":8,"type":"int"}}}})",
         "config_groups.g.weights.num_bits 8 of type 'int'"},
        {R"({"quant_method":"compressed-tensors","config_groups":{"g":{"weights":{"num_bits":4,"type":"float"},
            "input_activations":{"num_bits":8,"type":"float"}}}})",
         "input_activations.num_bits 8"},
        {R"({"quant_method":"fp8","weight_block_size":[64,64]})",
         "weight_block_size [64,64] is not supported; accepted: [128, 128]"},
        {R"({"quant_method":"fp8","fmt":"e5m2"})", "fmt 'e5m2'"},
        {R"({"quant_method":"fp8","weight_block_size":[128,128],"activation_scheme":"static"})",
         "activation_scheme 'static'"},
    };
    for (const auto& entry : cases) {
        EXPECT_ERROR(ErrorCode::unsupported, entry.words, from_config(entry.quantization));
    }
}

TEST(QuantizationConfig, RefusesTheMalformed) {
    EXPECT_ERROR(ErrorCode::invalid_file, "quantized_layers is missing",
                 from_file(R"({"quant_algo":"MIXED_PRECISION"})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "exclude_modules is \"x\"", from_file(R"({"exclude_modules":"x"})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "quant_algo is 5", from_file(R"({"quant_algo":5})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "hf_quant_config.json: quantization is missing",
                 QuantizationConfig("{}", "{}"));
    EXPECT_ERROR(ErrorCode::invalid_file, "hf_quant_config.json is not JSON", QuantizationConfig("{}", "{"));
    EXPECT_ERROR(ErrorCode::invalid_file, "/a/hf_quant_config.json is not JSON", QuantizationConfig("{}", "{", "/a/"));
    EXPECT_ERROR(ErrorCode::invalid_file, "config_groups is missing",
                 from_config(R"({"quant_method":"compressed-tensors"})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "re:( is not a regular expression",
                 from_config(R"({"quant_method":"compressed-tensors","ignore":["re:("],"config_groups":{}})"));
}

}  // namespace
}  // namespace colugo
