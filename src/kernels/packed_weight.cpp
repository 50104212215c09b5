#include "kernels/packed_weight.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/float_formats.h"

namespace colugo::kernels {

namespace {

constexpr size_t kLine = 64;  // bytes of a cache line

constexpr int kUnitGroups = kUnitK / 8;   // code dwords of one column in an nvfp4 unit
constexpr int kUnitBlocks = kUnitK / 16;  // scales of one column in an nvfp4 unit
constexpr size_t kUnitCodeBytes = size_t{kUnitGroups} * kPanel * 4;
constexpr size_t kUnitBytes = kUnitCodeBytes + size_t{kUnitBlocks} * kPanel;

size_t padded(int k) {
    return (static_cast<size_t>(k) + kUnitK - 1) / kUnitK * kUnitK;
}

// Bytes of k values in a checkpoint's row.
size_t value_bytes(WeightFormat format) {
    switch (format) {
        case WeightFormat::f32:
            return 4;
        case WeightFormat::bf16:
            return 2;
        default:
            return 1;
    }
}

// 16 rows of bytes, cut into words, to words of the 16 rows side by side. A line of each row is read at once: rows of
// a weight often lie a multiple of 4 KiB apart and would evict each other from the first-level cache word by word.
// Bytes past the rows' end are zero; out has `words` x 16 words, each passed through `map`.
template <typename Word, typename Map>
void interleave_rows(std::byte* out, size_t words, const std::byte* begin, int rows, size_t row_bytes, Map map) {
    constexpr size_t kWords = kLine / sizeof(Word);
    Word lines[kPanel][kWords];
    std::memset(lines, 0, sizeof lines);
    for (size_t first = 0; first < words; first += kWords) {
        const size_t at = first * sizeof(Word);
        const size_t here = at >= row_bytes ? 0 : row_bytes - at < kLine ? row_bytes - at : kLine;
        for (int row = 0; row < rows; ++row) {
            if (here < kLine) std::memset(lines[row], 0, kLine);
            if (here != 0) std::memcpy(lines[row], begin + static_cast<size_t>(row) * row_bytes + at, here);
        }
        const size_t count = words - first < kWords ? words - first : kWords;
        for (size_t word = 0; word < count; ++word) {
            Word column[kPanel];
            for (int row = 0; row < kPanel; ++row) column[row] = map(lines[row][word]);
            std::memcpy(out + (first + word) * sizeof column, column, sizeof column);
        }
    }
}

// Eight codes in k order (nibble i is k = i) to the order of kNibbleToK: even k in the low half, odd k in the high one.
uint32_t split_even_odd(uint32_t codes) {
    uint64_t halves = (codes & 0x0f0f0f0fu) | uint64_t{(codes >> 4) & 0x0f0f0f0fu} << 32;
    halves = (halves | halves >> 4) & 0x00ff00ff00ff00ffu;
    halves = (halves | halves >> 8) & 0x0000ffff0000ffffu;
    return static_cast<uint32_t>(halves | halves >> 16);
}

// As the kernels read e4m3: without a NaN (Vec::load_e4m3).
const std::array<float, 256>& e4m3_values() {
    static const std::array<float, 256> values = [] {
        std::array<float, 256> out{};
        for (int code = 0; code < 256; ++code) out[static_cast<size_t>(code)] = e4m3_to_f32(static_cast<uint8_t>(code));
        out[0x7f] = 480.0f;
        out[0xff] = -480.0f;
        return out;
    }();
    return values;
}

}  // namespace

size_t packed_panel_bytes(WeightFormat format, int k) {
    if (format == WeightFormat::nvfp4) return padded(k) / kUnitK * kUnitBytes;
    return padded(k) * kPanel * value_bytes(format);
}

size_t packed_bytes(WeightFormat format, int n, int k) {
    const size_t panels = (static_cast<size_t>(n) + kPanel - 1) / kPanel;
    return panels * packed_panel_bytes(format, k);
}

void pack_panel(std::byte* panel, WeightFormat format, const std::byte* rows_begin, int rows, int k) {
    COLUGO_CHECK(format != WeightFormat::nvfp4 && rows >= 0 && rows <= kPanel);
    const size_t row_bytes = static_cast<size_t>(k) * value_bytes(format);
    if (format == WeightFormat::f32 || format == WeightFormat::bf16) {
        const size_t words = padded(k) * value_bytes(format) / 4;
        interleave_rows<uint32_t>(panel, words, rows_begin, rows, row_bytes, [](uint32_t word) { return word; });
    } else {
        interleave_rows<uint16_t>(panel, padded(k) / 2, rows_begin, rows, row_bytes,
                                  [](uint16_t word) { return word; });
    }
}

void pack_panel_nvfp4(std::byte* panel, const std::byte* codes, const std::byte* scales, int rows, int k) {
    COLUGO_CHECK(k % 16 == 0 && rows >= 0 && rows <= kPanel);
    const size_t blocks = static_cast<size_t>(k) / 16;
    const size_t units = padded(k) / kUnitK;
    // Codes and scales alternate in a panel, so each unit is one call: 32 bytes of every row.
    for (size_t unit = 0; unit < units; ++unit, panel += kUnitBytes) {
        uint32_t groups[kPanel][kUnitGroups] = {};
        uint8_t unit_scales[kUnitBlocks][kPanel] = {};
        const size_t here = blocks - unit * kUnitBlocks < kUnitBlocks ? blocks - unit * kUnitBlocks : kUnitBlocks;
        for (int row = 0; row < rows; ++row) {
            const size_t block = static_cast<size_t>(row) * blocks + unit * kUnitBlocks;
            std::memcpy(groups[row], codes + block * 8, here * 8);
            for (size_t i = 0; i < here; ++i) unit_scales[i][row] = static_cast<uint8_t>(scales[block + i]);
        }
        for (int group = 0; group < kUnitGroups; ++group) {
            uint32_t column[kPanel];
            for (int row = 0; row < kPanel; ++row) column[row] = split_even_odd(groups[row][group]);
            std::memcpy(panel + static_cast<size_t>(group) * sizeof column, column, sizeof column);
        }
        std::memcpy(panel + kUnitCodeBytes, unit_scales, sizeof unit_scales);
    }
}

void unpack_row(float* out, const PackedWeight& weight, int n) {
    COLUGO_CHECK(n >= 0 && n < weight.n);
    const size_t column = static_cast<size_t>(n) % kPanel;
    const std::byte* panel =
        weight.data + static_cast<size_t>(n / kPanel) * packed_panel_bytes(weight.format, weight.k);
    const std::array<float, 256>& e4m3 = e4m3_values();
    for (int i = 0; i < weight.k; ++i) {
        const auto k = static_cast<size_t>(i);
        switch (weight.format) {
            case WeightFormat::f32: {
                std::memcpy(&out[k], panel + (k * kPanel + column) * 4, 4);
                break;
            }
            case WeightFormat::bf16: {
                uint16_t value;
                std::memcpy(&value, panel + ((k / 2 * kPanel + column) * 2 + k % 2) * 2, 2);
                out[k] = bf16_to_f32(value);
                break;
            }
            case WeightFormat::fp8:
            case WeightFormat::fp8_block128:
                out[k] = e4m3[static_cast<uint8_t>(panel[(k / 2 * kPanel + column) * 2 + k % 2])];
                break;
            case WeightFormat::nvfp4: {
                const std::byte* unit = panel + k / kUnitK * kUnitBytes;
                const size_t in_unit = k % kUnitK, in_group = k % 8;
                uint32_t codes;
                std::memcpy(&codes, unit + (in_unit / 8 * kPanel + column) * 4, 4);
                const size_t nibble = in_group / 2 + (in_group % 2) * 4;
                const auto scale = static_cast<uint8_t>(unit[kUnitCodeBytes + in_unit / 16 * kPanel + column]);
                out[k] = kE2m1Values[codes >> (4 * nibble) & 0xfu] * e4m3[scale];
                break;
            }
        }
    }
}

}  // namespace colugo::kernels
