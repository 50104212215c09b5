#include "text/jinja_text_functions.h"

#include "text/jinja_unicode.h"

namespace colugo::jinja {

Text replace_text(Runtime& runtime, const Text& text, std::string_view old, const Text& replacement, int64_t limit) {
    const std::string& bytes = text.bytes();
    Text out;
    size_t plain = 0;
    size_t counted = 0;
    for (int64_t times = 0; limit < 0 || times < limit; ++times) {
        size_t found = 0;
        if (old.empty()) {  // before every character and at the end
            found = plain;
            if (times > 0) {
                if (plain >= bytes.size()) break;
                next_code_point(bytes, found);
            }
        } else {
            found = bytes.find(old, plain);
            if (found == std::string::npos) break;
        }
        out.append(text, plain, found);
        out.append(replacement);
        plain = found + old.size();
        runtime.charge(1);
        runtime.count_growth(out.size(), counted);
    }
    out.append(text, plain, bytes.size());
    runtime.count_growth(out.size(), counted);
    out.set_markup(text.markup());
    return out;
}

Text pad_text(Runtime& runtime, const Text& text, int64_t width, const Text& fill, bool left, bool right) {
    const int64_t missing = width - static_cast<int64_t>(count_code_points(text.bytes()));
    if (missing <= 0) return text;
    runtime.admit_bytes(static_cast<size_t>(missing));
    int64_t before = left ? missing : 0;
    if (left && right) before = missing / 2 + (missing & width & 1);
    Text out;
    for (int64_t i = 0; i < before; ++i) out.append(fill);
    out.append(text);
    for (int64_t i = before; i < missing; ++i) out.append(fill);
    out.set_markup(text.markup());
    return out;
}

Text map_characters(const Text& text, FunctionRef<void(std::string& out, char32_t c, bool first)> map) {
    Text out;
    std::string mapped;
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        const char32_t c = next_code_point(text.bytes(), end);
        mapped.clear();
        map(mapped, c, begin == 0);
        out.append(mapped, text.content_at(begin));
    }
    return out;
}

Text lower_text(const Text& text) {
    constexpr char32_t kSigma = 0x3A3;
    const std::string_view bytes = text.bytes();
    const auto cased = [](char32_t c) { return is_upper(c) || is_lower(c) || is_title(c); };
    size_t at = 0;
    char32_t before = 0;
    return map_characters(text, [&](std::string& out, char32_t c, bool) {
        next_code_point(bytes, at);
        if (c == kSigma) {
            size_t next = at;
            const bool last = at >= bytes.size() || !cased(next_code_point(bytes, next));
            append_code_point(out, cased(before) && last ? 0x3C2 : 0x3C3);
        } else {
            append_lower(out, c);
        }
        before = c;
    });
}

Text upper_text(const Text& text) {
    return map_characters(text, [](std::string& out, char32_t c, bool) { append_upper(out, c); });
}

bool has_only_case(std::string_view text, bool upper) {
    bool found = false;
    for (size_t at = 0; at < text.size();) {
        const char32_t c = next_code_point(text, at);
        if (is_title(c) || (upper ? is_lower(c) : is_upper(c))) return false;
        found = found || (upper ? is_upper(c) : is_lower(c));
    }
    return found;
}

}  // namespace colugo::jinja
