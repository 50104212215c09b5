// One safetensors file, mapped: 8 bytes of header length, a JSON header, then the tensors' bytes without a gap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/float_formats.h"
#include "base/mapped_file.h"

namespace colugo {

struct TensorRecord {
    std::string name;
    std::string dtype_word;      // as the file spells it: "BF16"
    std::optional<DType> dtype;  // absent: a type nothing here reads; an error only for whoever needs the tensor
    std::vector<int64_t> shape;
    uint64_t offset = 0;  // bytes from the beginning of the file
    uint64_t length = 0;  // bytes; equals the shape's product times the type's size wherever the type is known
};

// safetensors' word for a type: "BF16"
std::string_view dtype_word(DType dtype);

// "[16, 3, 4]"
std::string shape_text(std::span<const int64_t> shape);

inline constexpr uint64_t kMaxSafetensorsHeader = uint64_t{32} << 20;  // bytes

// The records of a whole file's bytes, sorted by name. Throws invalid_file naming `path` and the tensor: a file cut
// short, a header that is not what the format asks for, a shape that contradicts its length, bytes that two tensors
// share, none covers, or the file does not have.
std::vector<TensorRecord> parse_safetensors_header(std::span<const std::byte> file, const std::string& path);

class SafetensorsFile {
 public:
    // Throws not_found, io, or what parse_safetensors_header throws.
    explicit SafetensorsFile(const std::string& path);

    const std::string& path() const { return file_.path(); }
    const std::vector<TensorRecord>& tensors() const { return tensors_; }  // sorted by name
    const TensorRecord* find(std::string_view name) const;                 // nullptr when absent
    std::span<const std::byte> bytes(const TensorRecord& tensor) const {
        return file_.bytes().subspan(tensor.offset, tensor.length);
    }
    // Gives mapped pages of the tensor's bytes [begin, begin + length) back to the system.
    void drop(const TensorRecord& tensor, uint64_t begin, uint64_t length) const {
        file_.drop(tensor.offset + begin, length);
    }

 private:
    MappedFile file_;
    std::vector<TensorRecord> tensors_;
};

}  // namespace colugo
