// Characters as Python's str sees them: code points of UTF-8 text, their classes and their letter case. A byte that is
// not valid UTF-8 counts as one character and is passed through.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace colugo::jinja {

// The code point at `position`, which moves behind it. Position must be below the size.
char32_t next_code_point(std::string_view text, size_t& position);
// Start of the character that ends at `position` (> 0).
size_t previous_boundary(std::string_view text, size_t position);
void append_code_point(std::string& out, char32_t code_point);

size_t count_code_points(std::string_view text);
// Byte offset of character `index`; the size when there are fewer.
size_t offset_of_character(std::string_view text, size_t index);

bool is_space(char32_t c);       // str.isspace
bool is_line_break(char32_t c);  // str.splitlines
bool is_printable(char32_t c);   // str.isprintable, decides the escapes of repr
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
inline bool is_alnum(char32_t c) {
    return is_alpha(c) || is_numeric(c);
}

// Full mappings: one character may become several.
void append_upper(std::string& out, char32_t c);
void append_lower(std::string& out, char32_t c);
void append_title(std::string& out, char32_t c);
void append_folded(std::string& out, char32_t c);

// Trims white space on both sides: byte offsets of what is left.
struct Trimmed {
    size_t begin;
    size_t end;
};
Trimmed trim_space(std::string_view text);

}  // namespace colugo::jinja
