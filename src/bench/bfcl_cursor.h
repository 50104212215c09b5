// A place in an expression, for reading ahead.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja_unicode.h"

namespace colugo::bfcl {

struct Cursor {
    std::string_view text;
    size_t at = 0;

    bool take(std::string_view word) {
        if (!text.substr(at).starts_with(word)) return false;
        at += word.size();
        return true;
    }

    // Both say whether there was one.
    bool skip_space() { return skip(jinja::is_space); }
    bool skip_word() {
        return skip([](char32_t c) { return jinja::is_alnum(c) || c == '_'; });
    }

    // Moves behind the next `close` that has at least `least` bytes before it and, with `in_line`, no line feed; the
    // text before it.
    std::optional<std::string_view> take_until(std::string_view close, size_t least, bool in_line) {
        const size_t end = text.find(close, at + least);
        if (end == text.npos) return std::nullopt;
        const std::string_view before = text.substr(at, end - at);
        if (in_line && before.find('\n') != before.npos) return std::nullopt;
        at = end + close.size();
        return before;
    }

 private:
    template <typename Is>
    bool skip(Is is) {
        const size_t start = at;
        for (size_t next = at; next < text.size(); at = next) {
            if (!is(jinja::next_code_point(text, next))) break;
        }
        return at > start;
    }
};

}  // namespace colugo::bfcl
