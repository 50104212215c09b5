#include "text/jinja_unicode.h"

#include <utf8proc.h>

namespace colugo::jinja {
namespace {

// A byte outside valid UTF-8 is carried as this offset + byte, above the code space, so it survives a round trip.
constexpr char32_t kRawByte = 0x110000;

utf8proc_category_t category(char32_t c) {
    return c < kRawByte ? utf8proc_category(static_cast<utf8proc_int32_t>(c)) : UTF8PROC_CATEGORY_CN;
}

bool in_range(char32_t c, char32_t first, char32_t last) {
    return c >= first && c <= last;
}

// Characters whose upper case is several characters (Unicode SpecialCasing, the unconditional part in common use).
const char* special_upper(char32_t c) {
    switch (c) {
        case 0xDF:
            return "SS";
        case 0x149:
            return "\u02BCN";
        case 0x1F0:
            return "J\u030C";
        case 0x587:
            return "\u0535\u0552";
        case 0xFB00:
            return "FF";
        case 0xFB01:
            return "FI";
        case 0xFB02:
            return "FL";
        case 0xFB03:
            return "FFI";
        case 0xFB04:
            return "FFL";
        case 0xFB05:
        case 0xFB06:
            return "ST";
        default:
            return nullptr;
    }
}

const char* special_title(char32_t c) {
    switch (c) {
        case 0xDF:
            return "Ss";
        case 0x149:
            return "\u02BCN";
        case 0x1F0:
            return "J\u030C";
        case 0x587:
            return "\u0535\u0582";
        case 0xFB00:
            return "Ff";
        case 0xFB01:
            return "Fi";
        case 0xFB02:
            return "Fl";
        case 0xFB03:
            return "Ffi";
        case 0xFB04:
            return "Ffl";
        case 0xFB05:
        case 0xFB06:
            return "St";
        default:
            return nullptr;
    }
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t& position) {
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + position;
    if (*bytes < 0x80) {
        ++position;
        return *bytes;
    }
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t length =
        utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - position), &code_point);
    if (length <= 0) {
        ++position;
        return kRawByte + *bytes;
    }
    position += static_cast<size_t>(length);
    return static_cast<char32_t>(code_point);
}

size_t previous_boundary(std::string_view text, size_t position) {
    size_t start = position - 1;
    for (int back = 0; back < 3 && start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80; ++back)
        --start;
    size_t end = start;
    next_code_point(text, end);
    return end == position ? start : position - 1;
}

void append_code_point(std::string& out, char32_t code_point) {
    if (code_point < 0x80) {
        out.push_back(static_cast<char>(code_point));
    } else if (code_point >= kRawByte) {
        out.push_back(static_cast<char>(code_point - kRawByte));
    } else {
        utf8proc_uint8_t bytes[4];
        const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
        out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
    }
}

size_t count_code_points(std::string_view text) {
    size_t count = 0;
    for (size_t position = 0; position < text.size(); ++count) next_code_point(text, position);
    return count;
}

size_t offset_of_character(std::string_view text, size_t index) {
    size_t position = 0;
    while (index > 0 && position < text.size()) {
        next_code_point(text, position);
        --index;
    }
    return position;
}

bool is_space(char32_t c) {
    if (c < 0x80) return in_range(c, 0x09, 0x0D) || in_range(c, 0x1C, 0x20);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || in_range(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_break(char32_t c) {
    return in_range(c, 0x0A, 0x0D) || in_range(c, 0x1C, 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_printable(char32_t c) {
    if (c < 0x7F) return c >= 0x20;
    switch (category(c)) {
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
        case UTF8PROC_CATEGORY_ZS:
            return false;
        default:
            return true;
    }
}

bool is_alpha(char32_t c) {
    if (c < 0x80) return in_range(c | 0x20, 'a', 'z');
    const utf8proc_category_t value = category(c);
    return value >= UTF8PROC_CATEGORY_LU && value <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) {
    return c < 0x80 ? in_range(c, '0', '9') : category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
    return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 || in_range(c, 0x2074, 0x2079) ||
           in_range(c, 0x2080, 0x2089) || in_range(c, 0x2460, 0x2468);
}

bool is_numeric(char32_t c) {
    if (c < 0x80) return in_range(c, '0', '9');
    const utf8proc_category_t value = category(c);
    return value == UTF8PROC_CATEGORY_ND || value == UTF8PROC_CATEGORY_NL || value == UTF8PROC_CATEGORY_NO;
}

bool is_upper(char32_t c) {
    return c < 0x80 ? in_range(c, 'A', 'Z') : category(c) == UTF8PROC_CATEGORY_LU;
}

bool is_lower(char32_t c) {
    if (c < 0x80) return in_range(c, 'a', 'z');
    return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA;
}

bool is_title(char32_t c) {
    return category(c) == UTF8PROC_CATEGORY_LT;
}

void append_upper(std::string& out, char32_t c) {
    if (const char* special = special_upper(c)) {
        out += special;
    } else {
        append_code_point(out,
                          c < kRawByte ? static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))) : c);
    }
}

void append_lower(std::string& out, char32_t c) {
    if (c == 0x130) {
        out += "i\u0307";
    } else {
        append_code_point(out,
                          c < kRawByte ? static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))) : c);
    }
}

void append_title(std::string& out, char32_t c) {
    if (const char* special = special_title(c)) {
        out += special;
    } else {
        append_code_point(out,
                          c < kRawByte ? static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))) : c);
    }
}

void append_folded(std::string& out, char32_t c) {
    if (c >= kRawByte) {
        append_code_point(out, c);
        return;
    }
    utf8proc_int32_t folded[8];
    int boundary = 0;
    const utf8proc_ssize_t length =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, 8, UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t i = 0; i < length && i < 8; ++i) append_code_point(out, static_cast<char32_t>(folded[i]));
}

Trimmed trim_space(std::string_view text) {
    Trimmed result{0, text.size()};
    while (result.begin < result.end) {
        size_t next = result.begin;
        if (!is_space(next_code_point(text, next))) break;
        result.begin = next;
    }
    while (result.end > result.begin) {
        const size_t start = previous_boundary(text, result.end);
        size_t next = start;
        if (!is_space(next_code_point(text, next))) break;
        result.end = start;
    }
    return result;
}

}  // namespace colugo::jinja
