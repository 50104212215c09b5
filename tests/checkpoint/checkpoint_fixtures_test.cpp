// Whole checkpoints written by tools/make_checkpoint.py against what numpy reads from them, value for value.
#include <filesystem>
#include <map>

#include "checkpoint/text_files.h"
#include "checkpoint/weights.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using kernels::ActivationFormat;

std::string fixture(const std::string& name) {
    return std::string(COLUGO_FIXTURES_DIR) + "/" + name;
}

float scalar(const SafetensorsFile& file, const std::string& name) {
    const TensorRecord* record = file.find(name);
    if (record == nullptr) throw std::runtime_error("no " + name);
    float value;
    std::memcpy(&value, file.bytes(*record).data(), sizeof value);
    return value;
}

// The dequantized weight of `module`: code x block scale x tensor scale, rounded to f32 after each product, as numpy
// did.
void expect_equal(const LinearWeight& weight, const SafetensorsFile& expected, const std::string& module) {
    SCOPED_TRACE(module);
    const kernels::PackedWeight& packed = weight.packed;
    const TensorRecord* record = expected.find(module + ".weight");
    ASSERT_NE(record, nullptr);
    ASSERT_EQ(record->shape, (std::vector<int64_t>{packed.n, packed.k}));
    const float scale = scalar(expected, module + ".weight_scale");
    if (packed.activation == ActivationFormat::nvfp4 || packed.activation == ActivationFormat::fp8) {
        EXPECT_EQ(packed.input_scale, scalar(expected, module + ".input_scale"));
        EXPECT_EQ(packed.alpha, scale * packed.input_scale);
    } else {
        EXPECT_EQ(packed.alpha, scale);
    }
    const std::byte* values = expected.bytes(*record).data();
    std::vector<float> row(static_cast<size_t>(packed.k));
    for (int n = 0; n < packed.n; ++n) {
        kernels::unpack_row(row.data(), packed, n);
        for (int k = 0; k < packed.k; ++k, values += sizeof(float)) {
            float value = row[static_cast<size_t>(k)];
            if (packed.block_scales) value *= packed.block_scales[n / 128 * ((packed.k + 127) / 128) + k / 128];
            value *= scale;
            float wanted;
            std::memcpy(&wanted, values, sizeof wanted);
            ASSERT_EQ(value, wanted) << n << ", " << k;
        }
    }
}

using ByModule = std::map<std::string, const LinearWeight*>;

void add_layer(ByModule& modules, const std::string& prefix, const LayerWeights& layer) {
    modules[prefix + "mlp.gate_proj"] = &layer.mlp.gate_proj;
    modules[prefix + "mlp.up_proj"] = &layer.mlp.up_proj;
    modules[prefix + "mlp.down_proj"] = &layer.mlp.down_proj;
    if (layer.linear_attn) {
        modules[prefix + "linear_attn.in_proj_qkv"] = &layer.linear_attn->in_proj_qkv;
        modules[prefix + "linear_attn.in_proj_z"] = &layer.linear_attn->in_proj_z;
        modules[prefix + "linear_attn.in_proj_b"] = &layer.linear_attn->in_proj_b;
        modules[prefix + "linear_attn.in_proj_a"] = &layer.linear_attn->in_proj_a;
        modules[prefix + "linear_attn.out_proj"] = &layer.linear_attn->out_proj;
    } else {
        modules[prefix + "self_attn.q_proj"] = &layer.self_attn->q_proj;
        modules[prefix + "self_attn.k_proj"] = &layer.self_attn->k_proj;
        modules[prefix + "self_attn.v_proj"] = &layer.self_attn->v_proj;
        modules[prefix + "self_attn.o_proj"] = &layer.self_attn->o_proj;
    }
}

// By the names the expected files use: without the trunk's prefix.
ByModule linears(const ModelWeights& weights) {
    ByModule modules = {{"embed_tokens", &weights.embed_tokens}};
    if (weights.lm_head) modules["lm_head"] = &*weights.lm_head;
    for (size_t i = 0; i < weights.layers.size(); ++i)
        add_layer(modules, fmt::format("layers.{}.", i), weights.layers[i]);
    if (weights.mtp) {
        modules["mtp.fc"] = &weights.mtp->fc;
        add_layer(modules, "mtp.layers.0.", weights.mtp->layer);
    }
    return modules;
}

// tiny has 3 GDN layers of 8 linears, an attention layer of 7, embedding, head, and 8 in the MTP head: 41. tiny-r1 has
// twice the layers and no head of its own: 71.
struct Case {
    const char* name;
    std::map<WeightScheme, int> schemes;
};

void PrintTo(const Case& fixture_case, std::ostream* out) {
    *out << fixture_case.name;
}

class FixtureWeights : public ::testing::TestWithParam<Case> {};

TEST_P(FixtureWeights, AreWhatNumpyReads) {
    const std::string expected_path = fixture(std::string("expected/") + GetParam().name + ".safetensors");
    if (!std::filesystem::exists(expected_path)) GTEST_SKIP() << expected_path << " has not been made";
    const SafetensorsFile expected(expected_path);
    const std::string directory = fixture(GetParam().name);
    const CheckpointFiles files(directory);
    const ModelConfig config = read_model_config(directory);
    const QuantizationConfig quantization = read_quantization_config(directory);
    const LoadOptions options{.compute = ComputeMode::f32};
    ThreadPool threads(2);
    const LoadedWeights loaded = load_weights(files, config, quantization, options, threads);

    const ByModule modules = linears(loaded.weights);
    EXPECT_EQ(modules.size(), loaded.report.modules.size());
    EXPECT_TRUE(loaded.report.has_mtp);
    for (const auto& [module, weight] : modules) expect_equal(*weight, expected, module);

    std::map<WeightScheme, int> schemes;
    for (const ModuleReport& module : loaded.report.modules) ++schemes[module.scheme];
    EXPECT_EQ(schemes, GetParam().schemes);
    const LoadReport plan = plan_weights(files, config, quantization, options);
    EXPECT_EQ(plan.memory_bytes, loaded.report.memory_bytes);
    EXPECT_EQ(plan.ignored, loaded.report.ignored);
}

using enum WeightScheme;
INSTANTIATE_TEST_SUITE_P(All, FixtureWeights,
                         ::testing::Values(Case{"tiny-bf16", {{bf16, 41}}}, Case{"tiny-f32", {{f32, 41}}},
                                           Case{"tiny-f16", {{f16, 41}}},
                                           Case{"tiny-nvfp4-w4a4", {{bf16, 16}, {nvfp4_w4a4, 25}}},
                                           Case{"tiny-nvfp4-w4a16", {{bf16, 16}, {nvfp4_w4a16, 25}}},
                                           Case{"tiny-fp8", {{bf16, 16}, {fp8, 25}}},
                                           Case{"tiny-fp8-block", {{bf16, 16}, {fp8_block128, 25}}},
                                           Case{"tiny-mixed", {{bf16, 15}, {fp8, 13}, {nvfp4_w4a16, 13}}},
                                           Case{"tiny-ct-nvfp4", {{bf16, 22}, {nvfp4_w4a4, 19}}},
                                           Case{"tiny-nvfp4-all", {{bf16, 8}, {nvfp4_w4a4, 33}}},
                                           Case{"tiny-bf16-kv-fp8", {{bf16, 41}}}, Case{"tiny-flat", {{bf16, 41}}},
                                           Case{"tiny-r1-bf16", {{bf16, 71}}},
                                           Case{"tiny-r1-fp8-block", {{bf16, 21}, {fp8_block128, 50}}},
                                           Case{"tiny-r1-nvfp4-head", {{bf16, 21}, {nvfp4_w4a4, 51}}}),
                         [](const auto& param) {
                             std::string label = param.param.name;
                             std::replace(label.begin(), label.end(), '-', '_');
                             return label;
                         });

TEST(Fixtures, DeclareAnFp8Cache) {
    const std::string directory = fixture("tiny-bf16-kv-fp8");
    if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " has not been made";
    const CheckpointFiles files(directory);
    ThreadPool threads(1);
    const LoadedWeights loaded =
        load_weights(files, read_model_config(directory), read_quantization_config(directory), {}, threads);
    EXPECT_EQ(loaded.report.kv_cache_algo, "FP8");
    const AttentionWeights& attention = *loaded.weights.layers[3].self_attn;
    EXPECT_GT(attention.k_scale, 0.02f);
    EXPECT_LT(attention.k_scale, 0.1f);
    EXPECT_NE(attention.v_scale, 1.0f);
}

TEST(Fixtures, TextFiles) {
    const std::string directory = fixture("tiny-bf16");
    if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " has not been made";
    const TextFiles files = read_text_files(directory);
    EXPECT_NE(files.chat_template(), nullptr);
    EXPECT_FALSE(files.generation.eos_token_id.empty());
    EXPECT_TRUE(files.tokenizer.eos_token);
    EXPECT_FALSE(files.read_tokenizer_json().empty());
}

}  // namespace
}  // namespace colugo
