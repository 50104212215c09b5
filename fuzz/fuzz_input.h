// What the fuzz targets share.
//
// A target is one file with LLVMFuzzerTestOneInput: it looks at one input, and a property that does not hold ends the
// program (COLUGO_CHECK). Linked with libFuzzer it looks for such inputs; with replay_main.cpp it is a test that runs
// the inputs kept in corpus/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace colugo::fuzz {

// Takes an input apart, from its beginning to its end. Texts end at a zero byte, so that inputs can be read and written
// by hand.
class FuzzInput {
 public:
    FuzzInput(const uint8_t* data, size_t size) : left_(reinterpret_cast<const char*>(data), size) {}

    bool empty() const { return left_.empty(); }
    // 0 where nothing is left.
    uint8_t byte() {
        if (left_.empty()) return 0;
        const auto value = static_cast<uint8_t>(left_.front());
        left_.remove_prefix(1);
        return value;
    }
    uint32_t two_bytes() {
        const uint32_t low = byte();
        return low | uint32_t{byte()} << 8;
    }
    std::string_view text() {
        const std::string_view taken = left_.substr(0, left_.find('\0'));
        left_.remove_prefix(std::min(taken.size() + 1, left_.size()));
        return taken;
    }
    std::string_view rest() {
        const std::string_view taken = left_;
        left_ = {};
        return taken;
    }

 private:
    std::string_view left_;
};

// A file of the source tree.
inline std::string source_file(const std::string& path) {
    std::ifstream file(COLUGO_SOURCE_DIR "/" + path, std::ios::binary);
    if (!file) throw std::runtime_error("no file " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace colugo::fuzz
