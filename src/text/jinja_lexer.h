// Splits a template into tokens, with the white space rules of jinja2 for trim_blocks and lstrip_blocks: the newline
// after a block tag is dropped, and so is the white space between the start of a line and a block or comment tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_value.h"

namespace colugo::jinja {

enum class TokenKind : uint8_t {
    data,  // text outside tags
    variable_begin,
    variable_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    real,
    op,  // an operator or bracket, its letters in `text`
    end,
};

struct Token {
    TokenKind kind = TokenKind::end;
    uint32_t offset = 0;  // into the normalized source
    std::string text;     // of data, names, strings (unescaped) and operators
    Integer integer = 0;
    double real = 0;

    bool is_op(std::string_view symbol) const { return kind == TokenKind::op && text == symbol; }
    bool is_name(std::string_view name) const { return kind == TokenKind::name && text == name; }
};

// \r\n and \r become \n, and one newline at the very end is dropped, as jinja2 does.
std::string normalize_source(std::string_view source);

// Throws Error (unsupported) with line and column. The last token is `end`.
std::vector<Token> tokenize(const std::string& normalized_source);

// "line 3, column 14", both from 1, columns in characters.
std::string describe_position(std::string_view normalized_source, size_t offset);

// Throws Error (unsupported): "chat template, line 3, column 14: ...".
[[noreturn]] void fail_at(std::string_view normalized_source, size_t offset, std::string_view sentence);

}  // namespace colugo::jinja
