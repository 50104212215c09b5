// A run of a CheckpointWriter that takes no time: two shards, three steps, each file a checkpoint has.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quant/checkpoint_writer.h"

namespace colugo::testing {

inline constexpr uint64_t kSmallShard = 110;  // bytes

inline std::vector<OutputTensor> small_tensors() {
    return {{"codes", DType::u8, {10, 10}}, {"scale", DType::f32, {}}, {"norm", DType::bf16, {25}}};
}

inline nlohmann::ordered_json small_job() {
    return {{"recipe", "fp8"}, {"calibration", {{"samples", 8}, {"file", "a.jsonl"}}}};
}

// What the tensor of this number holds: bytes that no other place has.
inline std::string small_bytes(size_t number) {
    std::string bytes(small_tensors()[number].bytes(), '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i + 101 * number);
    return bytes;
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
    return std::as_bytes(std::span(text));
}

// Does the step of this number, in two pieces, the later one first.
inline void do_small_step(CheckpointWriter& writer, size_t number) {
    const std::string name = small_tensors()[number].name;
    const std::string bytes = small_bytes(number);
    const size_t half = bytes.size() / 2;
    writer.write(name, half, as_bytes(bytes).subspan(half));
    writer.write(name, 0, as_bytes(bytes).first(half));
    writer.finish_step(name, {{"number", number}});
}

// All of it. Returns how many steps this run did.
inline int do_small_run(const std::string& destination, bool resume) {
    CheckpointWriter writer(destination, small_tensors(), kSmallShard, small_job(), resume, 0);
    if (writer.already_complete()) return 0;
    int steps = 0;
    for (size_t number = 0; number < small_tensors().size(); ++number) {
        if (writer.done(small_tensors()[number].name)) continue;
        OutputFile(writer.scratch_path("rows")).write(0, "scratch");
        do_small_step(writer, number);
        ++steps;
    }
    writer.write_file("config.json", "{}\n");
    writer.publish();
    return steps;
}

// Names and contents of a folder's files; "/" for what is not a file.
inline std::map<std::string, std::string> folder_content(const std::string& path) {
    std::map<std::string, std::string> content;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        content[entry.path().filename().string()] = entry.is_regular_file() ? text : "/";
    }
    return content;
}

}  // namespace colugo::testing
