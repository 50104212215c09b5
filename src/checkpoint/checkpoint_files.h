// The safetensors files of a checkpoint folder, and which of them each tensor is read from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace colugo {

// A tensor and the file that holds it. Borrows both from CheckpointFiles.
struct StoredTensor {
    const SafetensorsFile* file = nullptr;
    const TensorRecord* record = nullptr;

    explicit operator bool() const { return record != nullptr; }
    std::span<const std::byte> bytes() const { return file->bytes(*record); }
    void drop() const { file->drop(*record, 0, record->length); }
};

// The text of a file of at most `max_bytes`; absent when there is no such file. Throws io or invalid_file.
std::optional<std::string> read_text_file(const std::string& path, uint64_t max_bytes);

class CheckpointFiles {
 public:
    // model.safetensors.index.json decides where it exists; then model.safetensors; then the folder's only
    // *.safetensors file. Throws not_found (no folder, no weights, a shard the index names), invalid_file (an index
    // that is malformed, leaves the folder, or maps a tensor to a shard without it) or what SafetensorsFile throws.
    explicit CheckpointFiles(const std::string& directory);

    const std::string& directory() const { return directory_; }
    // By name in the files.
    const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
    // One sentence for each thing that was left aside.
    const std::vector<std::string>& notices() const { return notices_; }

 private:
    void open_single(const std::string& name);
    void open_index(const std::string& text, const std::string& index_path);
    void note_strays(const std::vector<std::string>& used);

    std::string directory_;
    std::vector<std::unique_ptr<SafetensorsFile>> files_;
    std::map<std::string, StoredTensor> tensors_;
    std::vector<std::string> notices_;
};

}  // namespace colugo
