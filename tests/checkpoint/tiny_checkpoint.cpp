#include "checkpoint/tiny_checkpoint.h"

#include <functional>

#include "base/float_formats.h"

namespace colugo::testing {

namespace {

using nlohmann::json;

constexpr int64_t kConvDim = 2 * 16 + 3 * 16;
constexpr int64_t kValueDim = 3 * 16;
constexpr int64_t kHeadDim = 32;

json tiny_config() {
    return {{"model_type", "qwen3_5_text"}, {"vocab_size", kTinyVocab},
            {"hidden_size", kTinyHidden},   {"intermediate_size", kTinyIntermediate},
            {"num_hidden_layers", 2},       {"layer_types", {"linear_attention", "full_attention"}},
            {"num_attention_heads", 2},     {"num_key_value_heads", 1},
            {"head_dim", kHeadDim},         {"linear_num_key_heads", 1},
            {"linear_num_value_heads", 3},  {"linear_key_head_dim", 16},
            {"linear_value_head_dim", 16},  {"linear_conv_kernel_dim", 4},
            {"mtp_num_hidden_layers", 1},   {"tie_word_embeddings", false},
            {"dtype", "bfloat16"}};
}

size_t product(const std::vector<int64_t>& shape) {
    size_t count = 1;
    for (const int64_t size : shape) count *= static_cast<size_t>(size);
    return count;
}

// bf16 values in (-2, 2).
TestTensor random_bf16(const std::string& name, std::vector<int64_t> shape) {
    const std::string bytes = random_bytes(product(shape), name);
    std::vector<uint16_t> values;
    for (const char byte : bytes) values.push_back(f32_to_bf16(static_cast<float>(static_cast<int8_t>(byte)) / 64.0f));
    return {"BF16", std::move(shape), bytes_of(values)};
}

TestTensor random_e4m3(const std::string& name, std::vector<int64_t> shape, uint8_t mask) {
    std::string bytes = random_bytes(product(shape), name);
    for (char& byte : bytes) {
        byte = static_cast<char>(static_cast<uint8_t>(byte) & mask);
        if ((byte & 0x7f) == 0x7f) byte = static_cast<char>(byte ^ 1);
    }
    return {"F8_E4M3", std::move(shape), std::move(bytes)};
}

void add_layer(TestTensors& tensors, const std::string& prefix, bool full) {
    const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
        tensors[prefix + name] = random_bf16(prefix + name, std::move(shape));
    };
    add("input_layernorm.weight", {kTinyHidden});
    add("post_attention_layernorm.weight", {kTinyHidden});
    add("mlp.gate_proj.weight", {kTinyIntermediate, kTinyHidden});
    add("mlp.up_proj.weight", {kTinyIntermediate, kTinyHidden});
    add("mlp.down_proj.weight", {kTinyHidden, kTinyIntermediate});
    if (full) {
        add("self_attn.q_proj.weight", {2 * 2 * kHeadDim, kTinyHidden});
        add("self_attn.k_proj.weight", {kHeadDim, kTinyHidden});
        add("self_attn.v_proj.weight", {kHeadDim, kTinyHidden});
        add("self_attn.o_proj.weight", {kTinyHidden, 2 * kHeadDim});
        add("self_attn.q_norm.weight", {kHeadDim});
        add("self_attn.k_norm.weight", {kHeadDim});
        return;
    }
    add("linear_attn.in_proj_qkv.weight", {kConvDim, kTinyHidden});
    add("linear_attn.in_proj_z.weight", {kValueDim, kTinyHidden});
    add("linear_attn.in_proj_b.weight", {3, kTinyHidden});
    add("linear_attn.in_proj_a.weight", {3, kTinyHidden});
    add("linear_attn.out_proj.weight", {kTinyHidden, kValueDim});
    add("linear_attn.conv1d.weight", {kConvDim, 1, 4});
    add("linear_attn.dt_bias", {3});
    tensors[prefix + "linear_attn.A_log"] = {"F32", {3}, bytes_of(std::vector<float>{-1.0f, 0.25f, 2.0f})};
    tensors[prefix + "linear_attn.norm.weight"] = {"F32", {16}, bytes_of(std::vector<float>(16, 1.25f))};
}

}  // namespace

std::string random_bytes(size_t count, const std::string& name) {
    uint64_t state = 0xcbf29ce484222325u;
    for (const char c : name) state = (state ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
    std::string bytes;
    for (size_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes.push_back(static_cast<char>(state >> 56));
    }
    return bytes;
}

TinyCheckpoint tiny_checkpoint() {
    TinyCheckpoint checkpoint;
    checkpoint.config = tiny_config();
    TestTensors& tensors = checkpoint.tensors;
    const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
        tensors[name] = random_bf16(name, std::move(shape));
    };
    add("model.embed_tokens.weight", {kTinyVocab, kTinyHidden});
    add_layer(tensors, "model.layers.0.", false);
    add_layer(tensors, "model.layers.1.", true);
    add("model.norm.weight", {kTinyHidden});
    add("lm_head.weight", {kTinyVocab, kTinyHidden});
    add("mtp.fc.weight", {kTinyHidden, 2 * kTinyHidden});
    add("mtp.pre_fc_norm_embedding.weight", {kTinyHidden});
    add("mtp.pre_fc_norm_hidden.weight", {kTinyHidden});
    add("mtp.norm.weight", {kTinyHidden});
    add_layer(tensors, "mtp.layers.0.", true);
    return checkpoint;
}

void TinyCheckpoint::erase(const std::string& name) {
    std::erase_if(tensors, [&](const auto& entry) {
        return entry.first == name || (entry.first.starts_with(name) && entry.first[name.size()] == '.');
    });
}

void TinyCheckpoint::rename(const std::string& from, const std::string& to) {
    auto node = tensors.extract(from);
    node.key() = to;
    tensors.insert(std::move(node));
}

void TinyCheckpoint::scalar(const std::string& name, float value) {
    tensors[name] = {"F32", {}, bytes_of(std::vector<float>{value})};
}

void TinyCheckpoint::store_nvfp4(const std::string& module) {
    const std::vector<int64_t> shape = tensors.at(module + ".weight").shape;
    tensors[module + ".weight"] = {"U8", {shape[0], shape[1] / 2}, random_bytes(product(shape) / 2, module + ".codes")};
    tensors[module + ".weight_scale"] = random_e4m3(module + ".scales", {shape[0], shape[1] / 16}, 0x7f);
    scalar(module + ".weight_scale_2", kTinyWeightScale);
    scalar(module + ".input_scale", kTinyInputScale);
}

void TinyCheckpoint::store_compressed_nvfp4(const std::string& module) {
    store_nvfp4(module);
    rename(module + ".weight", module + ".weight_packed");
    erase(module + ".weight_scale_2");
    erase(module + ".input_scale");
    tensors[module + ".weight_global_scale"] = {"F32", {1}, bytes_of(std::vector<float>{1.0f / kTinyWeightScale})};
    tensors[module + ".input_global_scale"] = {"F32", {1}, bytes_of(std::vector<float>{1.0f / kTinyInputScale})};
}

void TinyCheckpoint::store_fp8(const std::string& module) {
    tensors[module + ".weight"] = random_e4m3(module + ".codes", tensors.at(module + ".weight").shape, 0xff);
    scalar(module + ".weight_scale", kTinyWeightScale);
    scalar(module + ".input_scale", kTinyInputScale);
}

void TinyCheckpoint::store_fp8_block(const std::string& module) {
    const std::vector<int64_t> shape = tensors.at(module + ".weight").shape;
    const std::vector<int64_t> blocks = {(shape[0] + 127) / 128, (shape[1] + 127) / 128};
    tensors[module + ".weight"] = random_e4m3(module + ".codes", shape, 0xff);
    std::vector<float> scales;
    for (size_t i = 0; i < product(blocks); ++i) scales.push_back(0.01f * static_cast<float>(i + 1));
    tensors[module + ".weight_scale_inv"] = {"F32", blocks, bytes_of(scales)};
}

void TinyCheckpoint::declare(const std::vector<std::pair<std::string, std::string>>& algos) {
    json layers = json::object();
    for (const auto& [module, algo] : algos) layers[module] = {{"quant_algo", algo}};
    hf_quant = {{"quantization", {{"quant_algo", "MIXED_PRECISION"}, {"quantized_layers", layers}}}};
}

void TinyCheckpoint::write(const TempFolder& folder) const {
    folder.write("config.json", config.dump());
    if (!hf_quant.is_null()) folder.write("hf_quant_config.json", hf_quant.dump());
    folder.write("model.safetensors", safetensors_file(tensors));
}

LoadedWeights TinyCheckpoint::load(const LoadOptions& options) const {
    const TempFolder folder;
    write(folder);
    const CheckpointFiles files(folder.path());
    ThreadPool threads(2);
    return load_weights(files, read_model_config(folder.path()), read_quantization_config(folder.path()), options,
                        threads);
}

LoadReport TinyCheckpoint::plan(const LoadOptions& options) const {
    const TempFolder folder;
    write(folder);
    const CheckpointFiles files(folder.path());
    return plan_weights(files, read_model_config(folder.path()), read_quantization_config(folder.path()), options);
}

}  // namespace colugo::testing
