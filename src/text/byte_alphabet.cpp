#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace colugo {
namespace {

constexpr size_t kAlphabetEnd = 0x144;  // 256 bytes, 68 of which do not stand for themselves

constexpr bool stands_for_itself(uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr auto kByteOfCodePoint = [] {
    std::array<int16_t, kAlphabetEnd> table{};
    table.fill(-1);
    size_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        table[stands_for_itself(byte) ? byte : next++] = static_cast<int16_t>(byte);
    }
    return table;
}();

}  // namespace

std::optional<std::string> bytes_of_alphabet(std::string_view token) {
    std::string bytes;
    bytes.reserve(token.size());
    for (size_t i = 0; i < token.size();) {
        const Utf8Step step = utf8_step(token, i);
        if (step.kind != Utf8Step::character || step.code_point >= kAlphabetEnd) return std::nullopt;
        const int16_t byte = kByteOfCodePoint[step.code_point];
        if (byte < 0) return std::nullopt;
        bytes.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
        i += step.length;
    }
    return bytes;
}

}  // namespace colugo
