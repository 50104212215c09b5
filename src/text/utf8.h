// UTF-8, read one character at a time, and the one rule for bytes that are not UTF-8.
//
// The rule: every maximal subpart of an ill-formed sequence becomes one U+FFFD, as the WHATWG decoder and Python's
// errors="replace" do it. A maximal subpart is the longest run of bytes that begins a well-formed sequence, or one byte
// where nothing does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colugo {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Step {
    enum Kind : uint8_t {
        character,   // a well-formed sequence
        ill_formed,  // a maximal subpart that something else follows
        incomplete,  // a maximal subpart that the end of the text follows: more bytes could complete it
    };
    Kind kind;
    uint8_t length;       // bytes
    uint32_t code_point;  // of a character
};

// Reads at text[position]; position < text.size().
Utf8Step utf8_step(std::string_view text, size_t position);

void append_utf8(uint32_t code_point, std::string& out);

// `text` itself if it is UTF-8, else a copy in `storage` with the rule applied.
std::string_view to_valid_utf8(std::string_view text, std::string& storage);

// Bytes, as they come, to whole characters.
class Utf8Stream {
 public:
    // Appends to `out` the characters these bytes complete, and U+FFFD for bytes that can be no character. The first
    // bytes of an unfinished character, at most three, are held back.
    void feed(std::string_view bytes, std::string& out);
    // The end of the text: an unfinished character becomes one U+FFFD. What comes next begins a new text.
    void flush(std::string& out);

 private:
    std::string held_;
};

struct Utf8Character {
    uint32_t code_point;
    uint32_t length;  // bytes
};

// Reads one character of text known to be UTF-8.
inline Utf8Character decode_valid_utf8(const char* at) {
    const auto byte = [at](int i) { return static_cast<uint32_t>(static_cast<unsigned char>(at[i])); };
    const uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    if (lead < 0xE0) return {(lead & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2};
    if (lead < 0xF0) return {(lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), 3};
    return {(lead & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu), 4};
}

// The number of leading bytes that are ASCII.
size_t ascii_prefix(std::string_view text);

}  // namespace colugo
