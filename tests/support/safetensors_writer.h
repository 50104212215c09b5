// Safetensors files written by hand, well-formed or not: the header is whatever the test says.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace colugo::testing {

struct TestTensor {
    std::string dtype;  // safetensors' word
    std::vector<int64_t> shape;
    std::string bytes;
};

using TestTensors = std::map<std::string, TestTensor>;

// A file with this header and data, whatever they are. `length` is what the first 8 bytes claim.
inline std::string safetensors_file(uint64_t length, std::string_view header, std::string_view data) {
    std::string file;
    for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(length >> (8 * i)));
    return file.append(header).append(data);
}

inline std::string safetensors_file(std::string_view header, std::string_view data) {
    return safetensors_file(header.size(), header, data);
}

// A well-formed file of these tensors, in the order of their names.
inline std::string safetensors_file(const TestTensors& tensors) {
    nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
    std::string data;
    for (const auto& [name, tensor] : tensors) {
        const size_t end = data.size() + tensor.bytes.size();
        header[name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {data.size(), end}}};
        data += tensor.bytes;
    }
    return safetensors_file(header.dump(), data);
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

}  // namespace colugo::testing
