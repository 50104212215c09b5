// The files of a checkpoint, of any bytes: they are refused by an Error, or read, and nothing is read beside them.
// Input: a byte of options, config.json, a zero byte, hf_quant_config.json, a zero byte, and model.safetensors; with
// option 1 what stands there is its header, and its data is made up.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "base/thread_pool.h"
#include "checkpoint/text_files.h"
#include "checkpoint/weights.h"
#include "fuzz/fuzz_input.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace colugo::fuzz {
namespace {

constexpr size_t kMostData = size_t{1} << 18;  // bytes that are made up

void check_code(const Error& error) {
    COLUGO_CHECK(error.code() == ErrorCode::invalid_file || error.code() == ErrorCode::unsupported ||
                 error.code() == ErrorCode::not_found || error.code() == ErrorCode::resource_exhausted);
    COLUGO_CHECK(std::string_view(error.what()).size() < 3000);
}

template <typename Read>
void refuse_or(const Read& read) {
    try {
        read();
    } catch (const Error& error) {
        check_code(error);
    }
}

// As many bytes as the header's offsets ask for.
std::string file_with_data(std::string_view header) {
    size_t end = 0;
    const nlohmann::json document = nlohmann::json::parse(header, nullptr, false);
    if (document.is_object()) {
        for (const auto& [name, tensor] : document.items()) {
            const auto offsets = tensor.is_object() ? tensor.value("data_offsets", nlohmann::json()) : nlohmann::json();
            if (!offsets.is_array() || offsets.size() != 2 || !offsets[1].is_number_unsigned()) continue;
            end = std::max(end, std::min(kMostData, offsets[1].get<size_t>()));
        }
    }
    std::string data(end, '\0');
    uint32_t state = static_cast<uint32_t>(header.size());
    for (char& byte : data) {
        state = state * 1'664'525 + 1'013'904'223;
        byte = static_cast<char>(state >> 24 & 0x77);  // no NaN in any of the types
    }
    return testing::safetensors_file(header, data);
}

// Tensors lie inside the file, one behind the other, without a gap.
void check_header(const std::string& file) {
    const auto bytes = std::as_bytes(std::span(file));
    std::vector<TensorRecord> tensors = parse_safetensors_header(bytes, "a file");
    std::sort(tensors.begin(), tensors.end(), [](const TensorRecord& a, const TensorRecord& b) {
        return a.offset < b.offset || (a.offset == b.offset && a.length < b.length);
    });
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
    uint64_t end = header_bytes + sizeof header_bytes;
    for (const TensorRecord& tensor : tensors) {
        COLUGO_CHECK(tensor.offset == end && tensor.length <= file.size() - end);
        end += tensor.length;
        int64_t elements = 1;
        for (const int64_t size : tensor.shape) elements *= size;
        if (tensor.dtype) COLUGO_CHECK(static_cast<uint64_t>(elements) * dtype_size(*tensor.dtype) == tensor.length);
    }
    COLUGO_CHECK(end == file.size());
}

void check_config(const ModelConfig& config) {
    const int64_t layers = config.num_hidden_layers;
    COLUGO_CHECK(layers > 0 && config.layer_types.size() == static_cast<size_t>(layers));
    COLUGO_CHECK(config.vocab_size > 0 && config.hidden_size > 0 && config.intermediate_size > 0);
    COLUGO_CHECK(config.num_attention_heads % config.num_key_value_heads == 0);
    COLUGO_CHECK(config.linear_num_value_heads % config.linear_num_key_heads == 0);
    COLUGO_CHECK(config.rotary_dim() % 2 == 0 && config.rotary_dim() <= config.head_dim);
    int64_t product = 0;
    COLUGO_CHECK(!__builtin_mul_overflow(config.vocab_size, config.hidden_size, &product));
    COLUGO_CHECK(!__builtin_mul_overflow(config.conv_dim(), config.hidden_size, &product));
}

void load(const std::string& folder, const LoadOptions& options) {
    static ThreadPool threads(1);
    const CheckpointFiles files(folder);
    const ModelConfig config = read_model_config(folder);
    check_config(config);
    const QuantizationConfig quantization = read_quantization_config(folder);
    const LoadReport plan = plan_weights(files, config, quantization, options);
    const LoadedWeights loaded = load_weights(files, config, quantization, options, threads);
    COLUGO_CHECK(loaded.weights.layers.size() == static_cast<size_t>(config.num_hidden_layers));
    COLUGO_CHECK(loaded.report.file_bytes <= plan.file_bytes);
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    static const testing::TempFolder folder;
    fuzz::FuzzInput input(data, size);
    const uint8_t options = input.byte();
    const std::string config(input.text()), quantization(input.text()), rest(input.rest());
    const std::string file = (options & 1) != 0 ? fuzz::file_with_data(rest) : rest;
    folder.write("config.json", config);
    folder.write("model.safetensors", file);
    if (quantization.empty()) {
        unlink((folder.path() + "/hf_quant_config.json").c_str());
    } else {
        folder.write("hf_quant_config.json", quantization);
    }
    fuzz::refuse_or([&] { fuzz::check_header(file); });
    fuzz::refuse_or([&] { parse_generation_config(config, "a file"); });
    fuzz::refuse_or([&] {
        fuzz::load(folder.path(), {.compute = (options & 2) != 0 ? ComputeMode::f32 : ComputeMode::bf16,
                                   .with_mtp = (options & 4) == 0});
    });
    return 0;
}
