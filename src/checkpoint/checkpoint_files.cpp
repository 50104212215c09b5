#include "checkpoint/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/mapped_file.h"
#include "checkpoint/json_reader.h"

namespace colugo {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxIndexBytes = uint64_t{64} << 20;
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kSingleName = "model.safetensors";

std::vector<std::string> safetensors_names(const std::string& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
        if (entry->path().extension() == ".safetensors") names.push_back(entry->path().filename().string());
    }
    if (error) fail(ErrorCode::io, "cannot list {}: {}", directory, error.message());
    std::sort(names.begin(), names.end());
    return names;
}

// A name of a file beside the index: it must not lead anywhere else.
bool is_plain_name(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string("/\\\0", 3)) == name.npos;
}

}  // namespace

std::optional<std::string> read_text_file(const std::string& path, uint64_t max_bytes) {
    std::error_code error;
    const bool there = fs::exists(path, error);
    if (error) fail(ErrorCode::io, "cannot open {}: {}", path, error.message());
    if (!there) return std::nullopt;
    const MappedFile file(path);
    const std::span<const std::byte> bytes = file.bytes();
    if (bytes.size() > max_bytes) {
        fail(ErrorCode::invalid_file, "{} has {} bytes; accepted: up to {}", path, bytes.size(), max_bytes);
    }
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

CheckpointFiles::CheckpointFiles(const std::string& directory) : directory_(directory) {
    std::error_code error;
    const fs::file_status status = fs::status(directory, error);
    if (status.type() == fs::file_type::not_found) {
        fail(ErrorCode::not_found, "{} does not exist; expected a checkpoint folder", directory);
    }
    if (status.type() != fs::file_type::directory) {
        fail(ErrorCode::invalid_argument,
             "{} is not a folder; expected the folder that holds config.json and *.safetensors", directory);
    }
    const std::string index_path = directory + "/" + kIndexName;
    if (const auto index = read_text_file(index_path, kMaxIndexBytes)) {
        open_index(*index, index_path);
        return;
    }
    const std::vector<std::string> names = safetensors_names(directory);
    if (std::find(names.begin(), names.end(), kSingleName) != names.end()) {
        open_single(kSingleName);
    } else if (names.size() == 1) {
        open_single(names.front());
    } else if (names.empty()) {
        fail(ErrorCode::not_found, "{} holds no weights; expected {}, {} or one other *.safetensors file", directory,
             kIndexName, kSingleName);
    } else {
        fail(ErrorCode::not_found, "{} holds {} *.safetensors files ({}, {}, ...) but no {} that says what is where",
             directory, names.size(), names[0], names[1], kIndexName);
    }
}

void CheckpointFiles::open_single(const std::string& name) {
    files_.push_back(std::make_unique<SafetensorsFile>(directory_ + "/" + name));
    for (const TensorRecord& tensor : files_.back()->tensors()) {
        tensors_[tensor.name] = {files_.back().get(), &tensor};
    }
    note_strays({name});
}

void CheckpointFiles::open_index(const std::string& text, const std::string& index_path) {
    const nlohmann::json document = parse_json_object(text, index_path);
    const JsonFields index(document, index_path);
    const std::optional<JsonFields> weight_map = index.object("weight_map");
    if (!weight_map) index.refuse("weight_map", "an object that maps tensors to files");

    std::map<std::string, SafetensorsFile*> shards;
    for (const std::string& tensor : weight_map->keys()) {
        const std::string name = weight_map->string(tensor.c_str()).value_or("");
        if (!is_plain_name(name)) {
            const nlohmann::json* value = weight_map->get(tensor.c_str());  // nullptr for null
            fail(ErrorCode::invalid_file, "{} maps {} to {}; expected the name of a file in the same folder",
                 index_path, tensor, value ? json_excerpt(*value) : "null");
        }
        SafetensorsFile*& shard = shards[name];
        if (!shard) {
            const std::string path = directory_ + "/" + name;
            std::error_code error;
            if (!fs::exists(path, error)) {
                fail(ErrorCode::not_found, "{} is missing: {} keeps {} in it", path, kIndexName, tensor);
            }
            files_.push_back(std::make_unique<SafetensorsFile>(path));
            shard = files_.back().get();
        }
        const TensorRecord* record = shard->find(tensor);
        if (!record) {
            fail(ErrorCode::invalid_file, "{} has no tensor {}, though {} says so", shard->path(), tensor, kIndexName);
        }
        tensors_[tensor] = {shard, record};
    }

    std::vector<std::string> used;
    for (const auto& [name, shard] : shards) {
        used.push_back(name);
        for (const TensorRecord& tensor : shard->tensors()) {
            const auto mapped = tensors_.find(tensor.name);
            if (mapped == tensors_.end() || mapped->second.file != shard) {
                notices_.push_back(
                    fmt::format("{} in {} is ignored: {} does not place it there", tensor.name, name, kIndexName));
            }
        }
    }
    note_strays(used);
}

void CheckpointFiles::note_strays(const std::vector<std::string>& used) {
    for (const std::string& name : safetensors_names(directory_)) {
        if (std::find(used.begin(), used.end(), name) == used.end()) {
            notices_.push_back(fmt::format("{} is ignored: it is not part of this checkpoint", name));
        }
    }
}

}  // namespace colugo
