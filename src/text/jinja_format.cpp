#include "text/jinja_format.h"

#include <algorithm>
#include <cmath>

#include "text/jinja_fault.h"
#include "text/jinja_print.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

constexpr int64_t kMaxPrecision = 400;  // digits; more than a double has

std::string print_double(char type, bool alternate, int64_t precision, double value) {
    const std::string pattern = fmt::format("%{}.*{}", alternate ? "#" : "", type);
    const int digits = static_cast<int>(precision);
    const int size = std::snprintf(nullptr, 0, pattern.c_str(), digits, value);
    std::string text(static_cast<size_t>(size) + 1, '\0');
    std::snprintf(text.data(), text.size(), pattern.c_str(), digits, value);
    text.pop_back();
    return text;
}

std::string digits_in_base(Integer value, unsigned base, bool upper) {
    std::string digits;
    do {
        const auto digit = static_cast<unsigned>(value % base);
        digits.push_back(static_cast<char>(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10));
        value /= base;
    } while (value != 0);
    std::reverse(digits.begin(), digits.end());
    return digits;
}

// Unsigned digits of a float for one type; `value` is not negative.
std::string real_digits(const FormatSpec& spec, double value) {
    const int64_t precision = spec.precision < 0 ? 6 : spec.precision;
    if (!std::isfinite(value)) {
        const std::string text = std::isnan(value) ? "nan" : "inf";
        return spec.type == 'E' || spec.type == 'F' || spec.type == 'G' ? (text == "nan" ? "NAN" : "INF") : text;
    }
    switch (spec.type) {
        case '%':
            return print_double('f', spec.alternate, precision, value * 100) + "%";
        case 'n':
            return print_double('g', spec.alternate, std::max<int64_t>(precision, 1), value);
        case 'g':
        case 'G':
            return print_double(spec.type, spec.alternate, precision, value);
        case 0: {
            if (spec.precision < 0) return format_real(value);
            std::string text = print_double('g', false, std::max<int64_t>(precision, 1), value);
            if (text.find_first_of(".e") == std::string::npos) text += ".0";
            return text;
        }
        default:
            return print_double(spec.type, spec.alternate, precision, value);
    }
}

std::string integer_digits(const FormatSpec& spec, Integer value) {
    switch (spec.type) {
        case 'x':
            return digits_in_base(value, 16, false);
        case 'X':
            return digits_in_base(value, 16, true);
        case 'o':
            return digits_in_base(value, 8, false);
        case 'b':
            return digits_in_base(value, 2, false);
        default:
            return digits_in_base(value, 10, false);
    }
}

const char* base_prefix(const FormatSpec& spec) {
    if (!spec.alternate) return "";
    switch (spec.type) {
        case 'x':
            return "0x";
        case 'X':
            return "0X";
        case 'o':
            return "0o";
        case 'b':
            return "0b";
        default:
            return "";
    }
}

std::string group_digits(const std::string& digits, char separator, size_t every) {
    size_t whole = 0;
    while (whole < digits.size() && std::isalnum(static_cast<unsigned char>(digits[whole]))) ++whole;
    std::string result;
    for (size_t i = 0; i < whole; ++i) {
        if (i != 0 && (whole - i) % every == 0) result.push_back(separator);
        result.push_back(digits[i]);
    }
    return result + digits.substr(whole);
}

Text pad(Runtime& runtime, const FormatSpec& spec, Text head, const Text& body, char default_align) {
    const auto used = static_cast<int64_t>(count_code_points(head.bytes()) + count_code_points(body.bytes()));
    const int64_t missing = std::max<int64_t>(0, spec.width - used);
    runtime.admit_bytes(static_cast<size_t>(missing) * spec.fill.size());
    const char align = spec.align == 0 ? default_align : spec.align;
    const int64_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
    const int64_t middle = align == '=' ? missing : 0;
    Text result;
    for (int64_t i = 0; i < left; ++i) result.append(spec.fill, false);
    result.append(head);
    for (int64_t i = 0; i < middle; ++i) result.append(spec.fill, false);
    result.append(body);
    for (int64_t i = left + middle; i < missing; ++i) result.append(spec.fill, false);
    return result;
}

}  // namespace

Text format_text(Runtime& runtime, const FormatSpec& spec, const Text& text) {
    if (spec.precision < 0) return pad(runtime, spec, {}, text, '<');
    return pad(runtime, spec, {}, text.slice(0, offset_of_character(text.bytes(), static_cast<size_t>(spec.precision))),
               '<');
}

Text format_number(Runtime& runtime, FormatSpec spec, const Value& value) {
    static constexpr std::string_view kIntegerTypes("\0dixXobnc", 9);
    const bool as_integer = value.is_integral() && kIntegerTypes.find(spec.type) != std::string_view::npos;
    const bool content = value.content();
    if (spec.type == 'c' && as_integer) {
        std::string character;
        const Integer code = value.as_integer();
        if (code < 0 || code > 0x10FFFF) fault("{} is not a character", format_integer(code));
        append_code_point(character, static_cast<char32_t>(code));
        return format_text(runtime, spec, Text(character, content));
    }
    const double real = value.as_double();
    const bool negative = as_integer ? value.as_integer() < 0 : std::signbit(real) && !std::isnan(real);
    std::string digits = as_integer ? integer_digits(spec, negative ? -value.as_integer() : value.as_integer())
                                    : real_digits(spec, std::fabs(real));
    if (spec.grouping != 0)
        digits = group_digits(digits, spec.grouping, spec.type == 0 || spec.type == 'd' || !as_integer ? 3 : 4);
    std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    if (as_integer) sign += base_prefix(spec);
    return pad(runtime, spec, Text(sign, content), Text(digits, content), '>');
}

int64_t read_number(std::string_view text, size_t& position) {
    int64_t value = 0;
    while (position < text.size() && text[position] >= '0' && text[position] <= '9') {
        value = std::min<int64_t>(value * 10 + (text[position++] - '0'), int64_t{1} << 40);
    }
    return value;
}

void check_precision(int64_t precision) {
    if (precision > kMaxPrecision) fault("a precision of {} is too large, {} is the most", precision, kMaxPrecision);
}

}  // namespace colugo::jinja
