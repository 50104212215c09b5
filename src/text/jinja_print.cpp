#include "text/jinja_print.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "text/jinja_fault.h"
#include "text/jinja_loop.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

class Printer {
 public:
    explicit Printer(Runtime& runtime) : runtime_(runtime) {}

    void repr(const Value& value, int depth) {
        if (depth > kMaxValueDepth) limit_fault("a value nests more than {} levels deep", kMaxValueDepth);
        runtime_.charge(1);
        switch (value.kind()) {
            case Kind::string:
                quote(value.text());
                break;
            case Kind::list:
                items(value, "[", "]", depth);
                break;
            case Kind::tuple:
                items(value, "(", value.items().size() == 1 ? ",)" : ")", depth);
                break;
            case Kind::view:
                out_.append(type_name(value), false);
                items(value, "([", "])", depth);
                break;
            case Kind::dict:
                entries(value, depth);
                break;
            case Kind::range:
                range(value.as<RangeObject>());
                break;
            case Kind::name_space:
                name_space(value.as<NamespaceObject>(), depth);
                break;
            default:
                out_.append(scalar(value), value.content());
        }
        runtime_.count_growth(out_.size(), counted_);
    }

    Text take() { return std::move(out_); }

 private:
    static std::string scalar(const Value& value) {
        switch (value.kind()) {
            case Kind::undefined:
                return "Undefined";
            case Kind::none:
                return "None";
            case Kind::boolean:
                return value.as_boolean() ? "True" : "False";
            case Kind::integer:
                return format_integer(value.as_integer());
            case Kind::real:
                return format_real(value.as_double());
            case Kind::loop:
                return fmt::format("<LoopContext {}/{}>", value.as<LoopObject>().index0() + 1,
                                   value.as<LoopObject>().length());
            default:
                return fmt::format("<{}>", type_name(value));
        }
    }

    void items(const Value& value, const char* open, const char* close, int depth) {
        const bool content = value.content();
        out_.append(open, content);
        bool first = true;
        for (const Value& item : value.items()) {
            if (!first) out_.append(", ", content);
            first = false;
            repr(item, depth + 1);
        }
        out_.append(close, content);
    }

    void entries(const Value& value, int depth) {
        const bool content = value.content();
        out_.append("{", content);
        bool first = true;
        for (const auto& [key, item] : value.as<DictObject>().entries) {
            if (!first) out_.append(", ", content);
            first = false;
            repr(key, depth + 1);
            out_.append(": ", content);
            repr(item, depth + 1);
        }
        out_.append("}", content);
    }

    void range(const RangeObject& range) {
        out_.append(range.step == 1 ? fmt::format("range({}, {})", range.start, range.stop)
                                    : fmt::format("range({}, {}, {})", range.start, range.stop, range.step),
                    false);
    }

    void name_space(const NamespaceObject& object, int depth) {
        out_.append("<Namespace {", false);
        bool first = true;
        for (const auto& [name, item] : object.attributes) {
            if (!first) out_.append(", ", false);
            first = false;
            quote(Text(name, false));
            out_.append(": ", false);
            repr(item, depth + 1);
        }
        out_.append("}>", false);
    }

    // Python quotes with ' unless the text has ' and no ".
    void quote(const Text& text) {
        if (text.markup()) out_.append("Markup(", false);
        const std::string& bytes = text.bytes();
        const bool use_double = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos;
        const char mark = use_double ? '"' : '\'';
        const bool content = text.has_content();
        out_.append(std::string_view(&mark, 1), content);
        for (size_t begin = 0, end = 0; begin < bytes.size(); begin = end) {
            const char32_t c = next_code_point(bytes, end);
            const std::string escaped = escape(c, mark);
            if (escaped.empty()) {
                out_.append(text, begin, end);
            } else {
                out_.append(escaped, text.content_at(begin));
            }
        }
        out_.append(std::string_view(&mark, 1), content);
        if (text.markup()) out_.append(")", false);
    }

    static std::string escape(char32_t c, char mark) {
        if (c == static_cast<unsigned char>(mark) || c == '\\') return std::string("\\") + static_cast<char>(c);
        if (c == '\n') return "\\n";
        if (c == '\r') return "\\r";
        if (c == '\t') return "\\t";
        if (is_printable(c)) return {};
        const auto code = static_cast<uint32_t>(c);
        if (code < 0x100) return fmt::format("\\x{:02x}", code);
        if (code < 0x10000) return fmt::format("\\u{:04x}", code);
        return fmt::format("\\U{:08x}", code);
    }

    Runtime& runtime_;
    Text out_;
    size_t counted_ = 0;
};

}  // namespace

Text repr_of(Runtime& runtime, const Value& value) {
    Printer printer(runtime);
    printer.repr(value, 0);
    return printer.take();
}

Text str_of(Runtime& runtime, const Value& value) {
    if (value.is(Kind::string)) return value.text();
    if (value.is(Kind::undefined)) return {};
    return repr_of(runtime, value);
}

std::string format_integer(Integer value) {
    if (value >= std::numeric_limits<int64_t>::min() && value <= std::numeric_limits<int64_t>::max()) {
        return std::to_string(static_cast<int64_t>(value));
    }
    __extension__ unsigned __int128 magnitude =
        value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
    std::string digits;
    for (; magnitude != 0; magnitude /= 10) digits.push_back(static_cast<char>('0' + static_cast<int>(magnitude % 10)));
    if (value < 0) digits.push_back('-');
    std::reverse(digits.begin(), digits.end());
    return digits;
}

std::string format_real(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 40> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
    std::string_view text(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
    const bool negative = text.front() == '-';
    if (negative) text.remove_prefix(1);
    const size_t mark = text.find('e');
    std::string digits(text.substr(0, mark));
    digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
    int exponent = 0;
    const char* number = text.data() + mark + 1;
    std::from_chars(*number == '+' ? number + 1 : number, text.data() + text.size(), exponent);

    std::string result = negative ? "-" : "";
    const int count = static_cast<int>(digits.size());
    if (exponent < -4 || exponent >= 16) {
        result += digits.substr(0, 1);
        if (count > 1) result.append(1, '.').append(digits, 1);
        result += fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
    } else if (exponent < 0) {
        result.append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(digits);
    } else if (exponent + 1 >= count) {
        result.append(digits).append(static_cast<size_t>(exponent + 1 - count), '0').append(".0");
    } else {
        const auto point = static_cast<size_t>(exponent + 1);
        result.append(digits, 0, point).append(1, '.').append(digits, point);
    }
    return result;
}

namespace {

// Removes the underscores Python allows between digits; nothing when one is misplaced.
std::optional<std::string> without_underscores(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_') {
            result.push_back(text[i]);
        } else if (i == 0 || i + 1 == text.size() || !std::isalnum(static_cast<unsigned char>(text[i - 1])) ||
                   !std::isalnum(static_cast<unsigned char>(text[i + 1]))) {
            return std::nullopt;
        }
    }
    return result;
}

int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'z') return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
    return 99;
}

}  // namespace

std::optional<Integer> parse_integer(std::string_view text, int base) {
    const Trimmed trimmed = trim_space(text);
    text = text.substr(trimmed.begin, trimmed.end - trimmed.begin);
    bool negative = false;
    if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
        negative = text.front() == '-';
        text.remove_prefix(1);
    }
    if (text.size() > 2 && text[0] == '0') {
        const char mark = static_cast<char>(text[1] | 0x20);
        const int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
        if (marked != 0 && (base == marked || base == 0)) {
            base = marked;
            text.remove_prefix(text[2] == '_' ? 3 : 2);
        }
    }
    if (base == 0) base = 10;
    const std::optional<std::string> digits = without_underscores(text);
    if (!digits || digits->empty()) return std::nullopt;
    Integer value = 0;
    for (const char c : *digits) {
        const int digit = digit_value(c);
        if (digit >= base) return std::nullopt;
        if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value)) {
            fault("an integer of {} digits is too large", digits->size());
        }
    }
    return negative ? -value : value;
}

std::optional<double> parse_real(std::string_view text) {
    const Trimmed trimmed = trim_space(text);
    text = text.substr(trimmed.begin, trimmed.end - trimmed.begin);
    const std::optional<std::string> digits = without_underscores(text);
    if (!digits || digits->empty()) return std::nullopt;
    const char* begin = digits->data();
    const char* end = begin + digits->size();
    if (*begin == '+') ++begin;
    if (begin == end || (begin != digits->data() && *begin == '-')) return std::nullopt;
    double value = 0;
    const auto result = std::from_chars(begin, end, value);
    if (result.ptr != end) return std::nullopt;
    if (result.ec == std::errc::result_out_of_range) return std::strtod(begin, nullptr);
    if (result.ec != std::errc()) return std::nullopt;
    return value;
}

}  // namespace colugo::jinja
