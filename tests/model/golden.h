// Tensors of a golden file (tests/golden), read as values.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/safetensors.h"

namespace colugo::testing {

class Golden {
 public:
    explicit Golden(const std::string& path) : file_(std::string(COLUGO_SOURCE_DIR) + "/tests/golden/" + path) {}

    bool has(const std::string& name) const { return file_.find(name) != nullptr; }
    const std::vector<int64_t>& shape(const std::string& name) const { return record(name).shape; }
    std::vector<float> floats(const std::string& name) const { return values<float>(name, DType::f32); }
    std::vector<int32_t> ints(const std::string& name) const { return values<int32_t>(name, DType::i32); }

 private:
    const TensorRecord& record(const std::string& name) const {
        const TensorRecord* found = file_.find(name);
        COLUGO_CHECK(found != nullptr);
        return *found;
    }
    template <typename T>
    std::vector<T> values(const std::string& name, DType dtype) const {
        COLUGO_CHECK(record(name).dtype == dtype);
        const auto bytes = file_.bytes(record(name));
        std::vector<T> out(bytes.size() / sizeof(T));
        std::memcpy(out.data(), bytes.data(), bytes.size());
        return out;
    }

    SafetensorsFile file_;
};

}  // namespace colugo::testing
