// The value of every weight in memory against the bytes of the file, for each way of storing one.
#include <bit>

#include "base/float_formats.h"
#include "checkpoint/tiny_checkpoint.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using kernels::ActivationFormat;
using kernels::WeightFormat;
using testing::kTinyHidden;
using testing::kTinyInputScale;
using testing::kTinyIntermediate;
using testing::kTinyWeightScale;
using testing::tiny_checkpoint;
using testing::TinyCheckpoint;

const char* const kModule = "model.layers.0.mlp.gate_proj";  // [kTinyIntermediate, kTinyHidden]

template <typename T>
T element(const std::string& bytes, size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
}

// Every element of the packed matrix is `value(row, column)`, bit for bit.
template <typename Value>
void expect_values(const LinearWeight& weight, Value value) {
    std::vector<float> row(static_cast<size_t>(weight.packed.k));
    for (int n = 0; n < weight.packed.n; ++n) {
        kernels::unpack_row(row.data(), weight.packed, n);
        for (size_t k = 0; k < row.size(); ++k) {
            const float expected = value(static_cast<size_t>(n), k);
            ASSERT_EQ(std::bit_cast<uint32_t>(row[k]), std::bit_cast<uint32_t>(expected)) << n << ", " << k;
        }
    }
}

const LinearWeight& gate(const LoadedWeights& loaded) {
    return loaded.weights.layers[0].mlp.gate_proj;
}

const ModuleReport& report(const LoadReport& report, const std::string& name) {
    for (const ModuleReport& module : report.modules) {
        if (module.name == name) return module;
    }
    throw std::runtime_error("no module " + name);
}

TEST(WeightFormats, Bf16) {
    const TinyCheckpoint checkpoint = tiny_checkpoint();
    const std::string& bytes = checkpoint.tensors.at(std::string(kModule) + ".weight").bytes;
    for (const ComputeMode mode : {ComputeMode::bf16, ComputeMode::f32}) {
        const LoadedWeights loaded = checkpoint.load({.compute = mode});
        const LinearWeight& weight = gate(loaded);
        EXPECT_EQ(weight.packed.format, WeightFormat::bf16);
        EXPECT_EQ(weight.packed.activation, mode == ComputeMode::f32 ? ActivationFormat::f32 : ActivationFormat::bf16);
        EXPECT_EQ(weight.packed.n, kTinyIntermediate);
        EXPECT_EQ(weight.packed.k, kTinyHidden);
        EXPECT_EQ(weight.packed.alpha, 1.0f);
        expect_values(weight,
                      [&](size_t n, size_t k) { return bf16_to_f32(element<uint16_t>(bytes, n * kTinyHidden + k)); });
        EXPECT_EQ(report(loaded.report, kModule).scheme, WeightScheme::bf16);
        EXPECT_THAT(loaded.report.notices, ::testing::IsEmpty());
    }
}

TEST(WeightFormats, F32AndF16FollowTheComputeMode) {
    for (const bool half : {false, true}) {
        TinyCheckpoint checkpoint = tiny_checkpoint();
        testing::TestTensor& tensor = checkpoint.tensors.at(std::string(kModule) + ".weight");
        const std::string source = testing::random_bytes(kTinyIntermediate * kTinyHidden, "f");
        std::vector<float> values;
        std::vector<uint16_t> halves;
        for (const char byte : source) {
            // Finite f16 patterns; as f32 with mantissa bits that bf16 does not have.
            halves.push_back(static_cast<uint16_t>(0x3000 + static_cast<uint8_t>(byte) * 17));
            values.push_back(half ? f16_to_f32(halves.back()) : 1.0f + static_cast<float>(byte) / 1000.0f);
        }
        tensor.dtype = half ? "F16" : "F32";
        tensor.bytes = half ? testing::bytes_of(halves) : testing::bytes_of(values);
        const auto value = [&](size_t n, size_t k) { return values[n * kTinyHidden + k]; };

        const LoadedWeights wide = checkpoint.load({.compute = ComputeMode::f32});
        EXPECT_EQ(gate(wide).packed.format, WeightFormat::f32);
        EXPECT_EQ(gate(wide).packed.activation, ActivationFormat::f32);
        expect_values(gate(wide), value);
        EXPECT_TRUE(wide.report.notices.empty());

        const LoadedWeights rounded = checkpoint.load();
        EXPECT_EQ(gate(rounded).packed.format, WeightFormat::bf16);
        expect_values(gate(rounded), [&](size_t n, size_t k) { return round_to_bf16(value(n, k)); });
        EXPECT_THAT(rounded.report.notices,
                    ::testing::ElementsAre(
                        ::testing::AllOf(::testing::HasSubstr(kModule), ::testing::HasSubstr("rounded to bf16"))));
    }
}

float nvfp4_value(const TinyCheckpoint& checkpoint, const std::string& codes_name, size_t n, size_t k) {
    const std::string& codes = checkpoint.tensors.at(codes_name).bytes;
    const std::string& scales = checkpoint.tensors.at(std::string(kModule) + ".weight_scale").bytes;
    const auto byte = element<uint8_t>(codes, (n * kTinyHidden + k) / 2);
    const int code = k % 2 == 0 ? byte & 15 : byte >> 4;
    return kE2m1Values[code] * e4m3_to_f32(element<uint8_t>(scales, n * (kTinyHidden / 16) + k / 16));
}

TEST(WeightFormats, Nvfp4) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.store_nvfp4(kModule);
    const std::string codes = std::string(kModule) + ".weight";
    const auto value = [&](size_t n, size_t k) { return nvfp4_value(checkpoint, codes, n, k); };

    checkpoint.declare({{kModule, "NVFP4"}});
    const LoadedWeights w4a4 = checkpoint.load();
    expect_values(gate(w4a4), value);
    EXPECT_EQ(gate(w4a4).packed.activation, ActivationFormat::nvfp4);
    EXPECT_EQ(gate(w4a4).packed.input_scale, kTinyInputScale);
    EXPECT_EQ(gate(w4a4).packed.alpha, kTinyWeightScale * kTinyInputScale);
    EXPECT_EQ(report(w4a4.report, kModule).scheme, WeightScheme::nvfp4_w4a4);
    EXPECT_TRUE(w4a4.report.ignored.empty());

    // A module declared W4A16 must not use the input_scale it ships.
    checkpoint.declare({{kModule, "W4A16_NVFP4"}});
    for (const ComputeMode mode : {ComputeMode::bf16, ComputeMode::f32}) {
        const LoadedWeights w4a16 = checkpoint.load({.compute = mode});
        expect_values(gate(w4a16), value);
        EXPECT_EQ(gate(w4a16).packed.activation,
                  mode == ComputeMode::f32 ? ActivationFormat::f32 : ActivationFormat::bf16);
        EXPECT_EQ(gate(w4a16).packed.input_scale, 1.0f);
        EXPECT_EQ(gate(w4a16).packed.alpha, kTinyWeightScale);
        EXPECT_THAT(w4a16.report.ignored, ::testing::ElementsAre(std::string(kModule) + ".input_scale"));
        EXPECT_TRUE(w4a16.report.notices.empty());
    }
}

TEST(WeightFormats, W4A4WithoutInputScaleIsWeightOnlyAndSaysSo) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.store_nvfp4(kModule);
    checkpoint.declare({{kModule, "NVFP4"}});
    checkpoint.erase(std::string(kModule) + ".input_scale");
    const LoadedWeights loaded = checkpoint.load();
    EXPECT_EQ(gate(loaded).packed.activation, ActivationFormat::bf16);
    EXPECT_EQ(gate(loaded).packed.alpha, kTinyWeightScale);
    EXPECT_THAT(loaded.report.notices, ::testing::ElementsAre(::testing::AllOf(::testing::HasSubstr(kModule),
                                                                               ::testing::HasSubstr("(W4A16)"))));
}

TEST(WeightFormats, CompressedTensorsGlobalsAreReciprocals) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.store_compressed_nvfp4(kModule);
    checkpoint.config["quantization_config"] = nlohmann::json::parse(
        R"({"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized","config_groups":{"group_0":{
            "targets":["Linear"],"weights":{"num_bits":4,"type":"float","group_size":16},
            "input_activations":{"num_bits":4,"type":"float","group_size":16,"dynamic":"local"}}}})");
    const LoadedWeights loaded = checkpoint.load();
    const std::string codes = std::string(kModule) + ".weight_packed";
    expect_values(gate(loaded), [&](size_t n, size_t k) { return nvfp4_value(checkpoint, codes, n, k); });
    const float input_scale = 1.0f / (1.0f / kTinyInputScale);
    EXPECT_EQ(gate(loaded).packed.input_scale, input_scale);
    EXPECT_EQ(gate(loaded).packed.alpha, 1.0f / (1.0f / kTinyWeightScale) * input_scale);
    // What the declaration covers and the files store plainly is told, not refused.
    EXPECT_THAT(loaded.report.notices, ::testing::ElementsAre(::testing::AllOf(
                                           ::testing::HasSubstr("mlp.up_proj"), ::testing::HasSubstr("used as stored"),
                                           ::testing::Not(::testing::HasSubstr("embed_tokens")))));
}

TEST(WeightFormats, Fp8) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.store_fp8(kModule);
    checkpoint.declare({{kModule, "FP8"}});
    const std::string bytes = checkpoint.tensors.at(std::string(kModule) + ".weight").bytes;
    const auto value = [&](size_t n, size_t k) { return e4m3_to_f32(element<uint8_t>(bytes, n * kTinyHidden + k)); };
    const LoadedWeights with_scale = checkpoint.load();
    expect_values(gate(with_scale), value);
    EXPECT_EQ(gate(with_scale).packed.format, WeightFormat::fp8);
    EXPECT_EQ(gate(with_scale).packed.activation, ActivationFormat::fp8);
    EXPECT_EQ(gate(with_scale).packed.alpha, kTinyWeightScale * kTinyInputScale);
    EXPECT_EQ(gate(with_scale).packed.input_scale, kTinyInputScale);

    checkpoint.erase(std::string(kModule) + ".input_scale");
    const LoadedWeights without = checkpoint.load();
    expect_values(gate(without), value);
    EXPECT_EQ(gate(without).packed.activation, ActivationFormat::bf16);
    EXPECT_EQ(gate(without).packed.alpha, kTinyWeightScale);
    EXPECT_EQ(report(without.report, kModule).scheme, WeightScheme::fp8_weight_only);
    EXPECT_THAT(without.report.notices,
                ::testing::ElementsAre(
                    ::testing::AllOf(::testing::HasSubstr(kModule), ::testing::HasSubstr("without an input_scale"))));
}

TEST(WeightFormats, Fp8Block) {
    // mtp.fc is [64, 128]: one block; q_proj [128, 64]; embed x 2 is made wider to have several.
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.config["intermediate_size"] = 272;
    for (const char* layer : {"model.layers.0.", "model.layers.1.", "mtp.layers.0."}) {
        for (const char* name : {"mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"}) {
            testing::TestTensor& tensor = checkpoint.tensors.at(std::string(layer) + name);
            const bool down = std::string(name).starts_with("mlp.down");
            tensor.shape = down ? std::vector<int64_t>{kTinyHidden, 272} : std::vector<int64_t>{272, kTinyHidden};
            tensor.bytes.resize(272 * kTinyHidden * 2, '\0');
        }
    }
    const std::string down = "model.layers.0.mlp.down_proj";
    checkpoint.store_fp8_block(kModule);
    checkpoint.store_fp8_block(down);
    checkpoint.config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
    const LoadedWeights loaded = checkpoint.load();
    const std::string& bytes = checkpoint.tensors.at(down + ".weight").bytes;
    const LinearWeight& weight = loaded.weights.layers[0].mlp.down_proj;
    expect_values(weight, [&](size_t n, size_t k) { return e4m3_to_f32(element<uint8_t>(bytes, n * 272 + k)); });
    EXPECT_EQ(weight.packed.format, WeightFormat::fp8_block128);
    EXPECT_EQ(weight.packed.activation, ActivationFormat::fp8_group128);
    EXPECT_EQ(weight.packed.alpha, 1.0f);
    for (size_t i = 0; i < 3; ++i) {  // [1, 3]
        EXPECT_EQ(weight.packed.block_scales[i], 0.01f * static_cast<float>(i + 1));
        EXPECT_EQ(gate(loaded).packed.block_scales[i], 0.01f * static_cast<float>(i + 1));  // [3, 1]
    }
    // bf16 scales, as in the published files.
    checkpoint.tensors.at(down + ".weight_scale_inv") = {
        "BF16", {1, 3}, testing::bytes_of(std::vector<uint16_t>{0x3f80, 0x4000, 0})};
    const LoadedWeights again = checkpoint.load();
    const float* scales = again.weights.layers[0].mlp.down_proj.packed.block_scales;
    EXPECT_EQ(std::vector<float>(scales, scales + 3), (std::vector<float>{1.0f, 2.0f, 0.0f}));
}

TEST(WeightFormats, SmallTensors) {
    const TinyCheckpoint checkpoint = tiny_checkpoint();
    const LoadedWeights loaded = checkpoint.load();
    const GdnWeights& gdn = *loaded.weights.layers[0].linear_attn;
    ASSERT_EQ(gdn.neg_exp_a_log.size(), 3u);
    EXPECT_EQ(gdn.neg_exp_a_log[0], -static_cast<float>(std::exp(-1.0)));
    EXPECT_EQ(gdn.neg_exp_a_log[2], -static_cast<float>(std::exp(2.0)));
    EXPECT_EQ(gdn.norm, std::vector<float>(16, 1.25f));
    const std::string& conv = checkpoint.tensors.at("model.layers.0.linear_attn.conv1d.weight").bytes;
    ASSERT_EQ(gdn.conv1d.size(), 4u * 80);
    for (size_t channel = 0; channel < 80; ++channel) {
        for (size_t tap = 0; tap < 4; ++tap) {
            EXPECT_EQ(gdn.conv1d[tap * 80 + channel], bf16_to_f32(element<uint16_t>(conv, channel * 4 + tap)));
        }
    }
    const std::string& bias = checkpoint.tensors.at("model.layers.0.linear_attn.dt_bias").bytes;
    EXPECT_EQ(gdn.dt_bias[1], bf16_to_f32(element<uint16_t>(bias, 1)));
    EXPECT_EQ(loaded.weights.layers[1].self_attn->k_scale, 1.0f);
}

TEST(WeightFormats, UnalignedDataIsRead) {
    // One byte in front of everything: every 16-bit value lies at an odd address.
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.tensors["a"] = {"U8", {1}, "x"};
    const std::string& bytes = checkpoint.tensors.at(std::string(kModule) + ".weight").bytes;
    expect_values(gate(checkpoint.load()),
                  [&](size_t n, size_t k) { return bf16_to_f32(element<uint16_t>(bytes, n * kTinyHidden + k)); });
}

}  // namespace
}  // namespace colugo
