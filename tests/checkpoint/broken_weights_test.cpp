// Checkpoints whose files are well-formed but whose tensors are not what the model needs: each is refused by one
// sentence that names the tensor.
#include <cmath>
#include <functional>
#include <limits>

#include "checkpoint/tiny_checkpoint.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using testing::bytes_of;
using testing::tiny_checkpoint;
using testing::TinyCheckpoint;

constexpr ErrorCode kInvalid = ErrorCode::invalid_file;
constexpr ErrorCode kUnsupported = ErrorCode::unsupported;
const std::string kUp = "model.layers.0.mlp.up_proj";
const std::string kGdn = "model.layers.0.linear_attn.";
const std::string kAttention = "model.layers.1.self_attn.";

struct Broken {
    std::string label;
    ErrorCode code;
    std::string words;
    std::function<void(TinyCheckpoint&)> mutate;
    bool in_headers = true;  // seen without reading a value
};

void PrintTo(const Broken& broken, std::ostream* out) {
    *out << broken.label;
}

void set_scalar(TinyCheckpoint& checkpoint, const std::string& name, float value) {
    checkpoint.tensors.at(name).bytes = bytes_of(std::vector<float>{value});
}

Broken nvfp4(std::string label, ErrorCode code, std::string words, std::function<void(TinyCheckpoint&)> mutate,
             bool in_headers = true) {
    return {std::move(label), code, std::move(words),
            [mutate = std::move(mutate)](TinyCheckpoint& checkpoint) {
                checkpoint.store_nvfp4(kUp);
                checkpoint.declare({{kUp, "NVFP4"}});
                mutate(checkpoint);
            },
            in_headers};
}

Broken fp8(std::string label, ErrorCode code, std::string words, std::function<void(TinyCheckpoint&)> mutate,
           bool in_headers = true) {
    return {std::move(label), code, std::move(words),
            [mutate = std::move(mutate)](TinyCheckpoint& checkpoint) {
                checkpoint.store_fp8(kUp);
                checkpoint.declare({{kUp, "FP8"}});
                mutate(checkpoint);
            },
            in_headers};
}

std::vector<Broken> missing_or_foreign() {
    return {
        {"no_embedding", kInvalid, "tensor model.embed_tokens.weight is missing",
         [](auto& c) { c.erase("model.embed_tokens"); }},
        {"no_norm", kInvalid, "tensor model.norm.weight is missing, though config.json asks for it",
         [](auto& c) { c.erase("model.norm"); }},
        {"no_projection", kInvalid, "tensor " + kUp + ".weight is missing", [](auto& c) { c.erase(kUp); }},
        {"no_a_log", kInvalid, kGdn + "A_log is missing", [](auto& c) { c.erase(kGdn + "A_log"); }},
        {"half_an_mtp", kInvalid, "tensor mtp.fc.weight is missing", [](auto& c) { c.erase("mtp.fc"); }},
        {"other_naming", kInvalid, "not known lie in its place: " + kGdn + "in_proj_qkvz.weight",
         [](auto& c) { c.rename(kGdn + "in_proj_qkv.weight", kGdn + "in_proj_qkvz.weight"); }},
        {"other_layer_kind", kInvalid, "not known lie in its place: " + kAttention + "k_norm.weight",
         [](auto& c) {
             c.config["layer_types"] = {"linear_attention", "linear_attention"};
         }},
        {"one_layer_more_wanted", kInvalid, "model.layers.2.self_attn.q_proj.weight is missing (and 10 more)",
         [](auto& c) {
             c.config["num_hidden_layers"] = 3;
             c.config["layer_types"] = {"linear_attention", "full_attention", "full_attention"};
         }},
        {"one_layer_less_wanted", kInvalid, "belongs to layer 1, but config.json says num_hidden_layers is 1",
         [](auto& c) {
             c.config["num_hidden_layers"] = 1;
             c.config["layer_types"] = {"linear_attention"};
         }},
        {"bias", kUnsupported, "tensor " + kUp + ".bias is not supported",
         [](auto& c) {
             c.tensors[kUp + ".bias"] = {"U8", {1}, "x"};
         }},
        {"conv_bias", kUnsupported, kGdn + "conv1d.bias is not supported",
         [](auto& c) {
             c.tensors[kGdn + "conv1d.bias"] = {"U8", {1}, "x"};
         }},
        {"awq_scale", kUnsupported, kUp + ".pre_quant_scale is not supported",
         [](auto& c) {
             c.tensors[kUp + ".pre_quant_scale"] = {"U8", {1}, "x"};
         }},
        {"second_mtp_layer", kUnsupported, "mtp.layers.1.mlp.up_proj.weight is not supported",
         [](auto& c) {
             c.tensors["mtp.layers.1.mlp.up_proj.weight"] = {"U8", {1}, "x"};
         }},
        {"two_names", kInvalid, "are two names of one weight",
         [](auto& c) { c.tensors["model.language_model.norm.weight"] = c.tensors.at("model.norm.weight"); }},
    };
}

std::vector<Broken> types_and_shapes() {
    return {
        {"norm_type", kInvalid, "model.norm.weight has type U8; expected F32, F16 or BF16",
         [](auto& c) {
             c.tensors["model.norm.weight"] = {"U8", {64}, std::string(64, 'x')};
         }},
        {"unknown_type", kUnsupported, kUp + ".weight has type F8_E5M2, which is not supported; accepted: F32",
         [](auto& c) {
             c.tensors[kUp + ".weight"] = {"F8_E5M2", {96, 64}, std::string(96 * 64, 'x')};
         }},
        {"int_type", kUnsupported, kUp + ".weight has type I32",
         [](auto& c) {
             c.tensors[kUp + ".weight"] = {"I32", {96, 64}, std::string(96 * 64 * 4, 'x')};
         }},
        {"swapped", kInvalid, kUp + ".weight has shape [64, 96], config.json asks for [96, 64]",
         [](auto& c) {
             c.tensors.at(kUp + ".weight").shape = {64, 96};
         }},
        {"flat", kInvalid, kUp + ".weight has shape [6144], config.json asks for [96, 64]",
         [](auto& c) { c.tensors.at(kUp + ".weight").shape = {6144}; }},
        {"other_hidden", kInvalid, "model.embed_tokens.weight has shape [40, 64], config.json asks for [40, 80]",
         [](auto& c) { c.config["hidden_size"] = 80; }},
        {"other_vocab", kInvalid, "model.embed_tokens.weight has shape [40, 64], config.json asks for [48, 64]",
         [](auto& c) { c.config["vocab_size"] = 48; }},
        {"other_heads", kInvalid, kAttention + "q_proj.weight has shape [128, 64], config.json asks for [256, 64]",
         [](auto& c) { c.config["num_attention_heads"] = 4; }},
        {"other_value_heads", kInvalid, kGdn + "in_proj_qkv.weight has shape [80, 64], config.json asks for [64, 64]",
         [](auto& c) { c.config["linear_num_value_heads"] = 2; }},
        {"other_taps", kInvalid, kGdn + "conv1d.weight has shape [80, 1, 4], config.json asks for [80, 1, 3]",
         [](auto& c) { c.config["linear_conv_kernel_dim"] = 3; }},
        {"long_norm", kInvalid, kAttention + "q_norm.weight has shape [16, 2], config.json asks for [32]",
         [](auto& c) {
             c.tensors.at(kAttention + "q_norm.weight").shape = {16, 2};
         }},
        {"quantized_embedding", kUnsupported,
         "model.embed_tokens.weight has type U8, which is not supported for it; accepted: F32",
         [](auto& c) {
             c.store_nvfp4("model.embed_tokens");
             c.declare({{"model.embed_tokens", "W4A16_NVFP4"}});
         }},
        nvfp4("codes_shape", kInvalid, kUp + ".weight has shape [96, 64], config.json asks for [96, 32]",
              [](auto& c) {
                  c.tensors[kUp + ".weight"] = {"U8", {96, 64}, std::string(96 * 64, 'x')};
              }),
        nvfp4("scales_shape", kInvalid, kUp + ".weight_scale has shape [192, 2], config.json asks for [96, 4]",
              [](auto& c) {
                  c.tensors.at(kUp + ".weight_scale").shape = {192, 2};
              }),
        nvfp4("scales_type", kInvalid, kUp + ".weight_scale has type U8; expected F8_E4M3",
              [](auto& c) { c.tensors.at(kUp + ".weight_scale").dtype = "U8"; }),
        nvfp4("two_scales", kInvalid, kUp + ".weight_scale_2 has shape [2]; expected one value",
              [](auto& c) {
                  c.tensors[kUp + ".weight_scale_2"] = {"F32", {2}, std::string(8, 'x')};
              }),
        nvfp4("scale_type", kInvalid, kUp + ".input_scale has type I32",
              [](auto& c) { c.tensors.at(kUp + ".input_scale").dtype = "I32"; }),
        fp8("channel_scales", kInvalid, kUp + ".weight_scale has shape [96, 1]; expected one value",
            [](auto& c) {
                c.tensors[kUp + ".weight_scale"] = {"F32", {96, 1}, std::string(384, '\1')};
            }),
        {"block_scales_shape", kInvalid, kUp + ".weight_scale_inv has shape [2, 1], config.json asks for [1, 1]",
         [](auto& c) {
             c.store_fp8_block(kUp);
             c.config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
             c.tensors[kUp + ".weight_scale_inv"] = {"F32", {2, 1}, std::string(8, '\1')};
         }},
    };
}

// Tensors that do not go together, or with the declaration.
std::vector<Broken> contradictions() {
    return {
        nvfp4("undeclared", kInvalid,
              kUp + " is stored as NVFP4, but neither hf_quant_config.json nor config.json declares",
              [](auto& c) { c.hf_quant = nullptr; }),
        nvfp4("nvfp4_declared_fp8", kInvalid, kUp + " is stored as NVFP4, but hf_quant_config.json declares it FP8",
              [](auto& c) {
                  c.declare({{kUp, "FP8"}});
              }),
        nvfp4("nvfp4_excluded", kInvalid,
              kUp + " is stored as NVFP4, but hf_quant_config.json excludes it by \"*mlp*\"",
              [](auto& c) {
                  c.hf_quant = {{"quantization", {{"quant_algo", "NVFP4"}, {"exclude_modules", {"*mlp*"}}}}};
              }),
        nvfp4("nvfp4_not_listed", kInvalid, "declares it not quantized",
              [](auto& c) {
                  c.declare({{"lm_head.x", "NVFP4"}});
              }),
        fp8("fp8_declared_nvfp4", kInvalid, kUp + " is stored as FP8, but hf_quant_config.json declares it NVFP4",
            [](auto& c) {
                c.declare({{kUp, "NVFP4"}});
            }),
        {"plain_declared_fp8", kInvalid, kUp + " is stored as BF16, but hf_quant_config.json declares it FP8",
         [](auto& c) {
             c.declare({{kUp, "FP8"}});
         }},
        {"block_declared_fp8", kInvalid,
         kUp + " is stored as FP8 in 128x128 blocks, but hf_quant_config.json declares it FP8",
         [](auto& c) {
             c.store_fp8_block(kUp);
             c.declare({{kUp, "FP8"}});
         }},
        nvfp4("no_weight_scale", kInvalid,
              kUp + ".weight_scale is missing: " + kUp + ".weight has type U8 and needs it",
              [](auto& c) { c.erase(kUp + ".weight_scale"); }),
        nvfp4("no_second_scale", kInvalid, kUp + ".weight_scale_2 is missing",
              [](auto& c) { c.erase(kUp + ".weight_scale_2"); }),
        nvfp4("nvfp4_with_inverse", kUnsupported, kUp + ".weight_scale_inv is not supported",
              [](auto& c) { c.scalar(kUp + ".weight_scale_inv", 1.0f); }),
        nvfp4("weight_twice", kInvalid, kUp + " has both a weight and a weight_packed",
              [](auto& c) { c.tensors[kUp + ".weight_packed"] = c.tensors.at(kUp + ".weight"); }),
        {"packed_without_global", kInvalid, kUp + ".weight_global_scale is missing",
         [](auto& c) {
             c.store_compressed_nvfp4(kUp);
             c.declare({{kUp, "NVFP4"}});
             c.erase(kUp + ".weight_global_scale");
         }},
        fp8("fp8_no_scale", kInvalid, kUp + ".weight_scale is missing: " + kUp + ".weight has type F8_E4M3",
            [](auto& c) { c.erase(kUp + ".weight_scale"); }),
        fp8("fp8_both_scales", kInvalid, kUp + " has both a weight_scale and a weight_scale_inv",
            [](auto& c) { c.scalar(kUp + ".weight_scale_inv", 1.0f); }),
        fp8("fp8_second_scale", kUnsupported, kUp + ".weight_scale_2 is not supported",
            [](auto& c) { c.scalar(kUp + ".weight_scale_2", 1.0f); }),
        {"plain_with_scale", kInvalid, kUp + ".weight_scale does not go with " + kUp + ".weight, which has type BF16",
         [](auto& c) { c.scalar(kUp + ".weight_scale", 1.0f); }},
        {"codes_lost_their_type", kInvalid, "tensor " + kUp + ".weight_scale is missing",
         [](auto& c) {
             c.tensors[kUp + ".weight"] = {"U8", {96, 32}, std::string(96 * 32, 'x')};
         }},
    };
}

// Values no model can have; seen only when they are read.
std::vector<Broken> values() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<Broken> cases;
    const struct {
        const char* label;
        float value;
    } bad[] = {{"nan", nan}, {"infinite", infinity}, {"zero", 0.0f}, {"negative", -0.5f}};
    for (const auto& [label, value] : bad) {
        for (const char* suffix : {"weight_scale_2", "input_scale"}) {
            cases.push_back(nvfp4(
                fmt::format("{}_{}", label, suffix), kInvalid, fmt::format("{}.{} is ", kUp, suffix),
                [suffix, value = value](auto& c) { set_scalar(c, kUp + "." + suffix, value); }, false));
        }
        cases.push_back(fp8(
            fmt::format("{}_fp8_scale", label), kInvalid, kUp + ".weight_scale is ",
            [value = value](auto& c) { set_scalar(c, kUp + ".weight_scale", value); }, false));
        cases.push_back({fmt::format("{}_k_scale", label), kInvalid, kAttention + "k_proj.k_scale is ",
                         [value = value](auto& c) {
                             c.scalar(kAttention + "k_proj.k_scale", value);
                             c.scalar(kAttention + "v_proj.v_scale", 0.5f);
                         },
                         false});
    }
    const auto set_byte = [](const std::string& name, size_t at, unsigned value) {
        return [=](TinyCheckpoint& c) { c.tensors.at(name).bytes[at] = static_cast<char>(value); };
    };
    const auto set_bf16 = [](const std::string& name, size_t at, unsigned bits) {
        return [=](TinyCheckpoint& c) {
            c.tensors.at(name).bytes[2 * at] = static_cast<char>(bits & 0xff);
            c.tensors.at(name).bytes[2 * at + 1] = static_cast<char>(bits >> 8);
        };
    };
    cases.push_back(nvfp4(
        "tiny_product", kInvalid, "the scales of " + kUp,
        [](auto& c) {
            set_scalar(c, kUp + ".weight_scale_2", 1e-30f);
            set_scalar(c, kUp + ".input_scale", 1e-30f);
        },
        false));
    cases.push_back(nvfp4("scale_code_nan", kInvalid,
                          kUp + ".weight_scale holds the scale code 0x7f at row 24, column 3",
                          set_byte(kUp + ".weight_scale", 99, 0x7f), false));
    cases.push_back(nvfp4("scale_code_sign", kInvalid,
                          kUp + ".weight_scale holds the scale code 0x81 at row 95, column 3",
                          set_byte(kUp + ".weight_scale", 383, 0x81), false));
    cases.push_back(nvfp4("scale_code_minus_nan", kInvalid, "scale code 0xff at row 0, column 0",
                          set_byte(kUp + ".weight_scale", 0, 0xff), false));
    cases.push_back(fp8("fp8_nan", kInvalid, kUp + ".weight holds a value that is not finite, in rows 0 to 15",
                        set_byte(kUp + ".weight", 77, 0x7f), false));
    cases.push_back(
        fp8("fp8_minus_nan", kInvalid, "not finite, in rows 80 to 95", set_byte(kUp + ".weight", 6143, 0xff), false));
    cases.push_back({"bf16_nan", kInvalid, kUp + ".weight holds a value that is not finite, in rows 16 to 31",
                     set_bf16(kUp + ".weight", 16 * 64, 0x7fc0), false});
    cases.push_back({"bf16_infinite", kInvalid, "lm_head.weight holds a value that is not finite, in rows 32 to 39",
                     set_bf16("lm_head.weight", 39 * 64 + 63, 0xff80), false});
    cases.push_back({"norm_nan", kInvalid, "model.norm.weight holds a value that is not finite",
                     set_bf16("model.norm.weight", 63, 0x7f81), false});
    cases.push_back({"a_log_infinite", kInvalid, kGdn + "A_log holds a value that is not finite",
                     [infinity](auto& c) {
                         c.tensors.at(kGdn + "A_log").bytes = bytes_of(std::vector<float>{0.0f, infinity, 0.0f});
                     },
                     false});
    cases.push_back({"a_log_huge", kInvalid, kGdn + "A_log holds a value whose exponential is not finite",
                     [](auto& c) {
                         c.tensors.at(kGdn + "A_log").bytes = bytes_of(std::vector<float>{0.0f, 200.0f, 0.0f});
                     },
                     false});
    cases.push_back({"block_scale_negative", kInvalid, kUp + ".weight_scale_inv holds the scale -1",
                     [](auto& c) {
                         c.store_fp8_block(kUp);
                         c.config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
                         c.tensors[kUp + ".weight_scale_inv"].bytes = bytes_of(std::vector<float>{-1.0f});
                     },
                     false});
    return cases;
}

class BrokenWeights : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenWeights, AreRefusedByName) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    GetParam().mutate(checkpoint);
    EXPECT_ERROR(GetParam().code, GetParam().words, checkpoint.load());
    // plan_weights says the same wherever the headers show it.
    if (GetParam().in_headers) {
        EXPECT_ERROR(GetParam().code, GetParam().words, checkpoint.plan());
    } else {
        EXPECT_NO_THROW(checkpoint.plan());
    }
}

const auto kLabel = [](const ::testing::TestParamInfo<Broken>& param) { return param.param.label; };
INSTANTIATE_TEST_SUITE_P(Missing, BrokenWeights, ::testing::ValuesIn(missing_or_foreign()), kLabel);
INSTANTIATE_TEST_SUITE_P(Types, BrokenWeights, ::testing::ValuesIn(types_and_shapes()), kLabel);
INSTANTIATE_TEST_SUITE_P(Contradictions, BrokenWeights, ::testing::ValuesIn(contradictions()), kLabel);
INSTANTIATE_TEST_SUITE_P(Values, BrokenWeights, ::testing::ValuesIn(values()), kLabel);

}  // namespace
}  // namespace colugo
