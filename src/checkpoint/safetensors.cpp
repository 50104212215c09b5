#include "checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/json_reader.h"

namespace colugo {

using nlohmann::json;

namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr size_t kMaxDimensions = 8;
constexpr size_t kMaxName = 512;  // bytes

struct DTypeWord {
    std::string_view word;
    std::optional<DType> dtype;
    uint64_t size;  // bytes
};

constexpr DTypeWord kDTypeWords[] = {
    {"F32", DType::f32, 4},   {"F16", DType::f16, 2},    {"BF16", DType::bf16, 2}, {"F8_E4M3", DType::fp8_e4m3, 1},
    {"U8", DType::u8, 1},     {"I32", DType::i32, 4},    {"I64", DType::i64, 8},   {"F8_E5M2", std::nullopt, 1},
    {"I8", std::nullopt, 1},  {"BOOL", std::nullopt, 1}, {"I16", std::nullopt, 2}, {"U16", std::nullopt, 2},
    {"U32", std::nullopt, 4}, {"U64", std::nullopt, 8},  {"F64", std::nullopt, 8},
};

const DTypeWord* find_word(std::string_view word) {
    const auto found = std::find_if(std::begin(kDTypeWords), std::end(kDTypeWords),
                                    [word](const DTypeWord& entry) { return entry.word == word; });
    return found == std::end(kDTypeWords) ? nullptr : found;
}

// The header's text, its length checked against the file.
std::string_view header_text(std::span<const std::byte> file, const std::string& path) {
    if (file.size() < kLengthBytes) {
        fail(ErrorCode::invalid_file, "{} is cut short: it has {} bytes, a safetensors file begins with {}", path,
             file.size(), kLengthBytes);
    }
    uint64_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<uint64_t>(file[i]) << (8 * i);
    if (length > kMaxSafetensorsHeader) {
        fail(ErrorCode::invalid_file, "{} gives its header length as {} bytes; accepted: up to {}", path, length,
             kMaxSafetensorsHeader);
    }
    if (length > file.size() - kLengthBytes) {
        fail(ErrorCode::invalid_file, "{} is cut short: its header has {} bytes, the file only {}", path, length,
             file.size());
    }
    return {reinterpret_cast<const char*>(file.data()) + kLengthBytes, static_cast<size_t>(length)};
}

uint64_t unsigned_field(const json& value, const std::string& path, const std::string& name, const char* field) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
        fail(ErrorCode::invalid_file, "{}: tensor {} has {} {}; expected whole numbers from 0", path, name, field,
             json_excerpt(value));
    }
    return value.get<uint64_t>();
}

const json& member(const json& entry, const char* key, json::value_t type, const std::string& path,
                   const std::string& name) {
    const auto found = entry.find(key);
    if (found == entry.end() || found->type() != type) {
        fail(ErrorCode::invalid_file, "{}: tensor {} has no {} of the right kind: {}", path, name, key,
             json_excerpt(entry));
    }
    return *found;
}

// Bytes the shape asks for; throws when that does not fit in 63 bits.
uint64_t shape_bytes(const TensorRecord& tensor, uint64_t element_size, const std::string& path) {
    uint64_t bytes = element_size;
    for (const int64_t size : tensor.shape) {
        if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) ||
            bytes > static_cast<uint64_t>(INT64_MAX)) {
            fail(ErrorCode::invalid_file, "{}: tensor {} has shape {}, more bytes than can be counted", path,
                 tensor.name, shape_text(tensor.shape));
        }
    }
    return bytes;
}

TensorRecord parse_record(const std::string& name, const json& entry, uint64_t data_begin, uint64_t data_size,
                          const std::string& path) {
    if (!entry.is_object()) {
        fail(ErrorCode::invalid_file, "{}: tensor {} is described by {}; expected an object", path, name,
             json_excerpt(entry));
    }
    // Names end up in sentences and reports.
    if (name.empty() || name.size() > kMaxName ||
        std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
        fail(ErrorCode::invalid_file, "{}: a tensor is named {}; expected 1 to {} printable characters", path,
             json_excerpt(json(name)), kMaxName);
    }
    TensorRecord tensor;
    tensor.name = name;
    tensor.dtype_word = member(entry, "dtype", json::value_t::string, path, name).get<std::string>();
    const json& shape = member(entry, "shape", json::value_t::array, path, name);
    if (shape.size() > kMaxDimensions) {
        fail(ErrorCode::invalid_file, "{}: tensor {} has {} dimensions; accepted: up to {}", path, name, shape.size(),
             kMaxDimensions);
    }
    for (const json& size : shape) {
        tensor.shape.push_back(static_cast<int64_t>(unsigned_field(size, path, name, "a dimension")));
    }
    const json& offsets = member(entry, "data_offsets", json::value_t::array, path, name);
    if (offsets.size() != 2) {
        fail(ErrorCode::invalid_file, "{}: tensor {} has data_offsets {}; expected [begin, end]", path, name,
             json_excerpt(offsets));
    }
    const uint64_t begin = unsigned_field(offsets[0], path, name, "a data offset");
    const uint64_t end = unsigned_field(offsets[1], path, name, "a data offset");
    if (begin > end) {
        fail(ErrorCode::invalid_file, "{}: tensor {} begins at byte {} and ends before it, at {}", path, name, begin,
             end);
    }
    if (end > data_size) {
        fail(ErrorCode::invalid_file,
             "{}: tensor {} ends at byte {} of the data, the file has only {}: it is cut short", path, name, end,
             data_size);
    }
    tensor.offset = data_begin + begin;
    tensor.length = end - begin;
    if (const DTypeWord* word = find_word(tensor.dtype_word)) {
        tensor.dtype = word->dtype;
        const uint64_t expected = shape_bytes(tensor, word->size, path);
        if (expected != tensor.length) {
            fail(ErrorCode::invalid_file,
                 "{}: tensor {} of type {} and shape {} needs {} bytes, its data_offsets give {}", path, name,
                 tensor.dtype_word, shape_text(tensor.shape), expected, tensor.length);
        }
    }
    return tensor;
}

// The format asks that the tensors cover the data from its first byte to its last, each byte once.
void check_cover(const std::vector<TensorRecord>& tensors, uint64_t data_begin, uint64_t file_size,
                 const std::string& path) {
    std::vector<const TensorRecord*> by_offset;
    for (const TensorRecord& tensor : tensors) by_offset.push_back(&tensor);
    std::sort(by_offset.begin(), by_offset.end(), [](const TensorRecord* a, const TensorRecord* b) {
        return a->offset != b->offset ? a->offset < b->offset : a->length < b->length;
    });
    uint64_t covered = data_begin;
    const TensorRecord* last = nullptr;
    for (const TensorRecord* tensor : by_offset) {
        if (tensor->offset < covered) {
            fail(ErrorCode::invalid_file, "{}: tensors {} and {} overlap", path, last->name, tensor->name);
        }
        if (tensor->offset > covered) {
            fail(ErrorCode::invalid_file, "{}: {} bytes before tensor {} belong to no tensor", path,
                 tensor->offset - covered, tensor->name);
        }
        covered += tensor->length;
        last = tensor;
    }
    if (covered != file_size) {
        fail(ErrorCode::invalid_file, "{}: {} bytes at the end belong to no tensor", path, file_size - covered);
    }
}

}  // namespace

std::string_view dtype_word(DType dtype) {
    const auto found = std::find_if(std::begin(kDTypeWords), std::end(kDTypeWords),
                                    [dtype](const DTypeWord& entry) { return entry.dtype == dtype; });
    COLUGO_CHECK(found != std::end(kDTypeWords));
    return found->word;
}

std::string shape_text(std::span<const int64_t> shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<TensorRecord> parse_safetensors_header(std::span<const std::byte> file, const std::string& path) {
    const std::string_view text = header_text(file, path);
    if (text.empty() || text.front() != '{') {
        fail(ErrorCode::invalid_file, "{} is not a safetensors file: its header does not begin with an object", path);
    }
    constexpr int kHeaderDepth = 3;
    const json header = parse_json_object(text, "the header of " + path, kHeaderDepth);
    const uint64_t data_begin = kLengthBytes + text.size();
    std::vector<TensorRecord> tensors;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") continue;
        tensors.push_back(parse_record(name, entry, data_begin, file.size() - data_begin, path));
    }
    std::sort(tensors.begin(), tensors.end(),
              [](const TensorRecord& a, const TensorRecord& b) { return a.name < b.name; });
    check_cover(tensors, data_begin, file.size(), path);
    return tensors;
}

SafetensorsFile::SafetensorsFile(const std::string& path)
    : file_(path), tensors_(parse_safetensors_header(file_.bytes(), path)) {}

const TensorRecord* SafetensorsFile::find(std::string_view name) const {
    const auto found =
        std::lower_bound(tensors_.begin(), tensors_.end(), name,
                         [](const TensorRecord& tensor, std::string_view key) { return tensor.name < key; });
    return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace colugo
