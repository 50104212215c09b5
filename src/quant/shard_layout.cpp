#include "quant/shard_layout.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;
using ShardTensors = std::vector<const OutputTensor*>;

std::vector<ShardTensors> split(std::span<const OutputTensor> tensors, uint64_t shard_bytes) {
    std::vector<ShardTensors> shards(1);
    uint64_t filled = 0;
    for (const OutputTensor& tensor : tensors) {
        const uint64_t bytes = tensor.bytes();
        const bool fits = filled <= shard_bytes && bytes <= shard_bytes - filled;
        if (!fits && !shards.back().empty()) {
            shards.emplace_back();
            filled = 0;
        }
        shards.back().push_back(&tensor);
        filled += bytes;
    }
    return shards;
}

std::string shard_name(size_t shard, size_t shards) {
    return shards == 1 ? "model.safetensors" : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards);
}

// Length and JSON. The header's own size is a multiple of the alignment, so offsets may be counted from its end.
std::string header_bytes(const ordered_json& header, const std::string& name) {
    std::string text = header.dump();
    const size_t unpadded = sizeof(uint64_t) + text.size();
    text.append((kShardAlignment - unpadded % kShardAlignment) % kShardAlignment, ' ');
    if (text.size() > kMaxSafetensorsHeader) {
        fail(ErrorCode::unsupported,
             "the header of {} would have {} bytes; readers accept up to {}: use smaller shards", name, text.size(),
             kMaxSafetensorsHeader);
    }
    std::string bytes;
    for (size_t i = 0; i < sizeof(uint64_t); ++i) bytes.push_back(static_cast<char>(text.size() >> (8 * i)));
    return bytes + text;
}

// Fills in header and size, and appends the tensors' places.
void lay_out(Shard& shard, size_t number, ShardTensors tensors, ShardLayout& layout) {
    std::stable_sort(tensors.begin(), tensors.end(), [](const OutputTensor* a, const OutputTensor* b) {
        return dtype_size(a->dtype) > dtype_size(b->dtype);
    });
    ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
    uint64_t end = 0;
    for (const OutputTensor* tensor : tensors) {
        const uint64_t begin = end;
        end += tensor->bytes();
        // emplace_back: an ordered object looks for an equal key among all it has before it takes one more.
        header.get_ref<ordered_json::object_t&>().emplace_back(
            tensor->name,
            ordered_json{
                {"dtype", dtype_word(tensor->dtype)}, {"shape", tensor->shape}, {"data_offsets", {begin, end}}});
        COLUGO_CHECK(layout.tensors.try_emplace(tensor->name, TensorPlace{number, begin, end - begin}).second);
    }
    shard.header = header_bytes(header, shard.name);
    shard.bytes = shard.header.size() + end;
    for (const OutputTensor* tensor : tensors) layout.tensors.at(tensor->name).offset += shard.header.size();
}

std::string index_text(const ShardLayout& layout) {
    uint64_t total = 0;
    nlohmann::json weight_map = nlohmann::json::object();
    for (const auto& [name, place] : layout.tensors) {
        total += place.length;
        weight_map[name] = layout.shards[place.shard].name;
    }
    const ordered_json index = {{"metadata", {{"total_size", total}}}, {"weight_map", weight_map}};
    return index.dump(2) + "\n";
}

}  // namespace

ShardLayout lay_out_shards(std::span<const OutputTensor> tensors, uint64_t shard_bytes) {
    const std::vector<ShardTensors> shards = split(tensors, shard_bytes);
    ShardLayout layout;
    layout.shards.resize(shards.size());
    for (size_t i = 0; i < shards.size(); ++i) {
        layout.shards[i].name = shard_name(i, shards.size());
        lay_out(layout.shards[i], i, shards[i], layout);
    }
    if (shards.size() > 1) layout.index = index_text(layout);
    return layout;
}

}  // namespace colugo
