// What the tokenizer needs to know about a code point, from Unicode 16 (tools/make_unicode_tables.py).
#pragma once

#include <cstddef>
#include <cstdint>

namespace colugo {

namespace unicode_tables {
#include "text/unicode_tables.inc"
}

enum CodePointProperty : uint8_t {
    kLetter = 1,         // general category L
    kMark = 2,           // general category M
    kNumber = 4,         // general category N
    kWhiteSpace = 8,     // White_Space
    kNfcUnsettled = 16,  // may change under NFC, by itself or with what stands before it
    kNfcFixed = 32,      // NFC passes over it (normalizer.h)
};

inline constexpr uint32_t kNumCodePoints = 0x110000;

// The CodePointProperty bits of a code point below kNumCodePoints.
inline uint8_t code_point_properties(uint32_t code_point) {
    const size_t block = unicode_tables::kBlockOfCodePoint[code_point / 128];
    return unicode_tables::kBlockProperties[block * 128 + code_point % 128];
}

}  // namespace colugo
