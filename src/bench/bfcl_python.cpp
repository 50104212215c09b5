#include "bench/bfcl_python.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "text/jinja_text_functions.h"
#include "text/jinja_unicode.h"

namespace colugo::bfcl {
namespace {

using jinja::next_code_point;

constexpr double kTwoTo63 = 9223372036854775808.0;

bool is_number(Type type) {
    return type == Type::boolean || type == Type::integer || type == Type::real;
}

// An integer or boolean as {negative, magnitude}.
std::pair<bool, uint64_t> magnitude(const Json& value) {
    if (value.is_boolean()) return {false, value.get<bool>() ? 1 : 0};
    if (value.is_number_unsigned()) return {false, value.get<uint64_t>()};
    const auto number = value.get<int64_t>();
    return {number < 0, number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number)};
}

bool equal_to_real(const Json& integer, double real) {
    const auto [negative, size] = magnitude(integer);
    const double positive = negative ? -real : real;
    return positive >= 0 && positive < 2 * kTwoTo63 && positive == std::floor(positive) &&
           static_cast<uint64_t>(positive) == size;
}

bool equal_numbers(const Json& a, const Json& b) {
    if (a.is_number_float() && b.is_number_float()) return a.get<double>() == b.get<double>();
    if (a.is_number_float()) return equal_to_real(b, a.get<double>());
    if (b.is_number_float()) return equal_to_real(a, b.get<double>());
    return magnitude(a) == magnitude(b);
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

size_t skip_digits(std::string_view text, size_t at) {
    while (at < text.size() && is_digit(text[at])) ++at;
    return at;
}

// `digits`: sign and digits, or what from_chars takes for a double.
Json to_integer(std::string_view digits) {
    int64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc()) return value;
    uint64_t large = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), large).ec == std::errc()) return large;
    return std::strtod(std::string(digits).c_str(), nullptr);
}

Json to_real(std::string_view text) {
    return std::strtod(std::string(text).c_str(), nullptr);
}

// Digits with single underscores between them, appended to `plain` without; whether there is one.
bool take_digits(std::string_view& text, std::string& plain) {
    size_t at = 0;
    while (at < text.size() && (is_digit(text[at]) || (text[at] == '_' && at > 0 && text[at - 1] != '_' &&
                                                       at + 1 < text.size() && is_digit(text[at + 1])))) {
        if (text[at] != '_') plain += text[at];
        ++at;
    }
    text.remove_prefix(at);
    return at > 0;
}

bool take(std::string_view& text, char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
}

std::optional<double> infinity_or_nan(std::string_view text) {
    std::string word(text);
    std::ranges::transform(word, word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    if (word == "inf" || word == "infinity") return std::numeric_limits<double>::infinity();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
}

}  // namespace

Type type_of(const Json& value) {
    switch (value.type()) {
        case Json::value_t::boolean:
            return Type::boolean;
        case Json::value_t::number_integer:
        case Json::value_t::number_unsigned:
            return Type::integer;
        case Json::value_t::number_float:
            return Type::real;
        case Json::value_t::string:
            return Type::text;
        case Json::value_t::array:
            return Type::list;
        case Json::value_t::object:
            return Type::dict;
        default:
            return Type::none;
    }
}

std::string_view type_name(Type type) {
    constexpr std::string_view kNames[] = {"null", "boolean", "integer", "float", "string", "array", "object"};
    return kNames[static_cast<size_t>(type)];
}

bool equal(const Json& a, const Json& b) {
    const Type type = type_of(a);
    if (is_number(type) && is_number(type_of(b))) return equal_numbers(a, b);
    if (type != type_of(b)) return false;
    if (type == Type::list) return std::ranges::equal(a, b, equal);
    if (type != Type::dict) return a == b;
    if (a.size() != b.size()) return false;
    return std::ranges::all_of(a.items(), [&](const auto& item) {
        const auto found = b.find(item.key());
        return found != b.end() && equal(item.value(), *found);
    });
}

bool contains(const Json& list, const Json& value) {
    return std::ranges::any_of(list, [&](const Json& item) { return equal(item, value); });
}

std::string_view strip(std::string_view text) {
    const jinja::Trimmed trimmed = jinja::trim_space(text);
    return text.substr(trimmed.begin, trimmed.end - trimmed.begin);
}

std::string_view strip(std::string_view text, std::string_view characters) {
    const size_t first = text.find_first_not_of(characters);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(characters) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (size_t begin = 0;;) {
        const size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        if (end == text.size()) return parts;
        begin = end + 1;
    }
}

std::string_view without_ends(std::string_view text) {
    if (text.empty()) return {};
    size_t begin = 0;
    next_code_point(text, begin);
    const size_t end = jinja::previous_boundary(text, text.size());
    return begin < end ? text.substr(begin, end - begin) : std::string_view();
}

std::vector<std::string_view> characters(std::string_view text) {
    std::vector<std::string_view> all;
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        next_code_point(text, end);
        all.push_back(text.substr(begin, end - begin));
    }
    return all;
}

std::string lower(std::string_view text) {
    return jinja::lower_text(jinja::Text(std::string(text), false)).bytes();
}

std::optional<Json> number(std::string_view text) {
    text = strip(text);
    std::string plain;
    if (text.starts_with('-')) plain = "-";
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (const auto special = infinity_or_nan(text)) return plain.empty() ? *special : -*special;
    const bool whole = take_digits(text, plain);
    if (whole && text.empty()) return to_integer(plain);
    bool fraction = false;
    if (take(text, '.')) {
        plain += '.';
        fraction = take_digits(text, plain);
    }
    if (!whole && !fraction) return std::nullopt;
    if (take(text, 'e') || take(text, 'E')) {
        plain += 'e';
        if (take(text, '-')) {
            plain += '-';
        } else {
            take(text, '+');
        }
        if (!take_digits(text, plain)) return std::nullopt;
    }
    if (!text.empty()) return std::nullopt;
    return to_real(plain);
}

std::optional<Json> number(std::string_view text, const NumberForm& form) {
    const size_t sign = text.starts_with('-') ? 1 : 0;
    size_t end = skip_digits(text, sign);
    if (end == sign) return std::nullopt;
    if (form.fraction && text.substr(end).starts_with('.')) {
        const size_t digits = skip_digits(text, end + 1);
        if (digits > end + 1) end = digits;
    }
    if (form.exponent && end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
        const size_t digits = end + (text.substr(end + 1).find_first_of("+-") == 0 ? 2 : 1);
        if (skip_digits(text, digits) > digits) end = skip_digits(text, digits);
    }
    const std::string_view digits = text.substr(0, end);
    std::string_view rest = text.substr(end);
    if (!form.suffixes.empty()) {
        if (rest.empty() || form.suffixes.find(rest.front()) == form.suffixes.npos) return std::nullopt;
        rest.remove_prefix(1);
    }
    if (!rest.empty() && rest != "\n") return std::nullopt;
    return form.fraction ? to_real(digits) : to_integer(digits);
}

}  // namespace colugo::bfcl
