// Filters on single values: text, numbers, JSON. Those on sequences are in jinja_sequence_filters.cpp.
#include <algorithm>
#include <cmath>

#include "text/compact_json.h"
#include "text/jinja_fault.h"
#include "text/jinja_operators.h"
#include "text/jinja_print.h"
#include "text/jinja_text_functions.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

// markupsafe's soft_str: a text stays as it is, anything else is printed.
Value soft_text(Runtime& runtime, const Value& value) {
    return value.is(Kind::string) ? value : Value::string(str_of(runtime, value));
}

const Text& require_text(const Value& value, std::string_view filter) {
    if (value.is(Kind::undefined)) fault_undefined(value);
    if (!value.is(Kind::string)) fault("the filter {} needs a text, not a {}", filter, type_name(value));
    return value.text();
}

Value call_method(Runtime& runtime, std::string_view name, const Value& input, const Arguments& arguments) {
    const Value text = soft_text(runtime, input);
    runtime.charge_bytes(text.bytes().size());
    return find_string_method(name)->call(runtime, text, arguments);
}

Value default_filter(Runtime&, const Value& input, const Arguments& arguments) {
    const Parameters given("default", arguments, {"default_value", "boolean"});
    const bool replace = input.is(Kind::undefined) || (given.flag(1, false) && !truth(input));
    if (!replace) return input;
    return given.has(0) ? given[0] : Value::literal("");
}

Value attr(Runtime&, const Value& input, const Arguments& arguments) {
    const Parameters given("attr", arguments, {"name"}, 1);
    const std::string& name = require_text(given[0], "attr").bytes();
    if (std::optional<Value> value = get_member(input, name)) return *value;
    return Value::undefined(fmt::format("'{} object' has no attribute '{}'", type_name(input), name));
}

// ---- text ----------------------------------------------------------------------------------------------------------

Value trim(Runtime& r, const Value& i, const Arguments& a) {
    return call_method(r, "strip", i, a);
}
Value upper(Runtime& r, const Value& i, const Arguments& a) {
    return call_method(r, "upper", i, a);
}
Value lower(Runtime& r, const Value& i, const Arguments& a) {
    return call_method(r, "lower", i, a);
}
Value capitalize(Runtime& r, const Value& i, const Arguments& a) {
    return call_method(r, "capitalize", i, a);
}
Value format(Runtime& runtime, const Value& input, const Arguments& arguments) {
    if (!arguments.positional.empty() && !arguments.named.empty()) {
        fault("the filter format takes positional or named arguments, not both");
    }
    const Value text = soft_text(runtime, input);
    if (arguments.named.empty()) return format_percent(runtime, text.text(), Value::tuple(arguments.positional));
    std::vector<std::pair<Value, Value>> entries;
    for (const auto& [name, value] : arguments.named) entries.emplace_back(Value::literal(name), value);
    return format_percent(runtime, text.text(), Value::dict(std::move(entries)));
}

Value title(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("title", arguments, {});
    const Value text = soft_text(runtime, input);
    bool in_word = false;
    Text out = map_characters(text.text(), [&in_word](std::string& to, char32_t c, bool) {
        const bool separator = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
        if (separator) {
            append_code_point(to, c);
        } else if (in_word) {
            append_lower(to, c);
        } else {
            append_upper(to, c);
        }
        in_word = !separator;
    });
    return Value::string(std::move(out));
}

Value string(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("string", arguments, {});
    return soft_text(runtime, input);
}

Value safe(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("safe", arguments, {});
    return Value::string(str_of(runtime, input).with_markup(true));
}

Value escape(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("escape", arguments, {});
    return Value::string(escape_html(str_of(runtime, input)));
}

Value replace(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("replace", arguments, {"old", "new", "count"}, 2);
    const Text text = str_of(runtime, input).with_markup(false);
    const int64_t count = given.given(2) == nullptr ? -1 : given.integer(2, -1);
    return Value::string(
        replace_text(runtime, text, str_of(runtime, given[0]).bytes(), str_of(runtime, given[1]), count));
}

Value center(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("center", arguments, {"width"});
    const Value text = soft_text(runtime, input);
    return Value::string(pad_text(runtime, text.text(), given.integer(0, 80), Text(" ", false), true, true));
}

Value indent(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("indent", arguments, {"width", "first", "blank"});
    const Text& text = require_text(input, "indent");
    Text indention("    ", false);
    if (given.has(0) && given[0].is(Kind::string)) {
        indention = given[0].text();
    } else if (given.has(0)) {
        const int64_t width = std::max<int64_t>(0, to_int64(given[0], "width"));
        runtime.admit_bytes(static_cast<size_t>(width));
        indention = Text(std::string(static_cast<size_t>(width), ' '), false);
    }
    const bool blank = given.flag(2, false);
    Text out;
    size_t counted = 0;
    if (given.flag(1, false)) out.append(indention);
    const std::string& bytes = text.bytes();
    const size_t size = bytes.ends_with('\r') ? bytes.size() - 1 : bytes.size();  // the filter appends \n: one line end
    size_t begin = 0;
    for (size_t at = 0; at < size;) {
        const size_t line_end = at;
        const char32_t c = next_code_point(bytes, at);
        if (!is_line_break(c)) continue;
        if (c == '\r' && at < size && bytes[at] == '\n') ++at;
        out.append(text, begin, line_end);
        out.append("\n", text.content_at(line_end));
        size_t peek = at;
        const bool empty_line = at >= size || is_line_break(next_code_point(bytes, peek));
        if (blank || !empty_line) out.append(indention);
        runtime.count_growth(out.size(), counted);
        begin = at;
    }
    out.append(text, begin, size);
    runtime.count_growth(out.size(), counted);
    out.set_markup(text.markup());
    return Value::string(std::move(out));
}

Value truncate(Runtime&, const Value& input, const Arguments& arguments) {
    const Parameters given("truncate", arguments, {"length", "killwords", "end", "leeway"});
    const Text& text = require_text(input, "truncate");
    const int64_t length = given.integer(0, 255);
    const Text end = given.has(2) ? require_text(given[2], "truncate") : Text("...", false);
    const int64_t leeway = given.given(3) == nullptr ? 5 : given.integer(3, 5);
    const auto end_length = static_cast<int64_t>(count_code_points(end.bytes()));
    if (length < end_length) fault("truncate needs a length of at least {}, not {}", end_length, length);
    if (leeway < 0) fault("truncate needs a leeway of at least 0, not {}", leeway);
    if (static_cast<int64_t>(count_code_points(text.bytes())) <= length + leeway) return input;
    Text out = text.slice(0, offset_of_character(text.bytes(), static_cast<size_t>(length - end_length)));
    if (!given.flag(1, false)) {
        const size_t space = out.bytes().rfind(' ');
        if (space != std::string::npos) out = out.slice(0, space);
    }
    out.append(end);
    return Value::string(std::move(out));
}

Value wordcount(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("wordcount", arguments, {});
    const Value text = soft_text(runtime, input);
    int64_t words = 0;
    bool in_word = false;
    for (size_t at = 0; at < text.bytes().size();) {
        const char32_t c = next_code_point(text.bytes(), at);
        const bool word = is_alnum(c) || c == '_';
        if (word && !in_word) ++words;
        in_word = word;
    }
    return Value::integer(words);
}

Text quote_url(const Text& text, bool query) {
    Text out;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text.bytes()[i];
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) ||
                           (c != '\0' && std::string_view("_.-~").find(c) != std::string_view::npos) ||
                           (c == '/' && !query);
        if (plain) {
            out.append(std::string_view(&c, 1), text.content_at(i));
        } else if (c == ' ' && query) {
            out.append("+", text.content_at(i));
        } else {
            out.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)), text.content_at(i));
        }
    }
    return out;
}

Value urlencode(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("urlencode", arguments, {});
    if (input.is(Kind::string) || !iterable(input)) return Value::string(quote_url(str_of(runtime, input), false));
    std::vector<Value> pairs;
    if (input.is(Kind::dict)) {
        for (const auto& [key, value] : input.as<DictObject>().entries) pairs.push_back(Value::tuple({key, value}));
    } else {
        pairs = iterate(runtime, input);
    }
    Text out;
    for (const Value& pair : pairs) {
        const std::vector<Value> parts = iterate(runtime, pair);
        if (parts.size() != 2) fault("urlencode needs pairs, not {} items", parts.size());
        if (!out.empty()) out.append("&", false);
        out.append(quote_url(str_of(runtime, parts[0]), true));
        out.append("=", false);
        out.append(quote_url(str_of(runtime, parts[1]), true));
    }
    return Value::string(std::move(out));
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

Value tojson(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
    JsonStyle style;
    style.ensure_ascii = given.flag(0, false);
    style.sort_keys = given.flag(3, false);
    if (const Value* width = given.given(1)) {
        style.multi_line = true;
        if (width->is(Kind::string)) {
            style.indent = width->text();
        } else {
            const int64_t spaces = std::max<int64_t>(0, to_int64(*width, "indent"));
            runtime.admit_bytes(static_cast<size_t>(spaces));
            style.indent = Text(std::string(static_cast<size_t>(spaces), ' '), false);
        }
    }
    style.item_separator = Text(style.multi_line ? "," : ", ", false);
    style.key_separator = Text(": ", false);
    if (const Value* separators = given.given(2)) {
        const std::vector<Value> pair = iterate(runtime, *separators);
        if (pair.size() != 2) fault("tojson needs two separators, not {}", pair.size());
        style.item_separator = require_text(pair[0], "tojson");
        style.key_separator = require_text(pair[1], "tojson");
    }
    return Value::string(to_json(runtime, input, style));
}

// Not of jinja2 or transformers: some published templates name it for servers that pass arguments as text.
Value from_json(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("from_json", arguments, {});
    const Text& text = require_text(input, "from_json");
    runtime.charge_bytes(text.size());
    const auto json = parse_json(text.bytes());
    if (json.is_discarded()) fault("from_json was given a text that is not JSON");
    return Value::from_json(json);
}

// ---- numbers -------------------------------------------------------------------------------------------------------

Value truncated(double value) {
    if (!(std::fabs(value) < 1e38)) fault("{} has no integer part of at most 38 digits", format_real(value));
    return Value::integer(static_cast<Integer>(value));
}

Value int_filter(Runtime&, const Value& input, const Arguments& arguments) {
    const Parameters given("int", arguments, {"default", "base"});
    const Value fallback = given.has(0) ? given[0] : Value::integer(0);
    if (input.is(Kind::undefined)) fault_undefined(input);
    if (input.is_integral()) return Value::integer(input.as_integer()).mark_content(input.content());
    std::optional<double> real;
    if (input.is(Kind::string)) {
        const bool content = input.text().has_content();
        if (const auto integer = parse_integer(input.bytes(), static_cast<int>(given.integer(1, 10)))) {
            return Value::integer(*integer).mark_content(content);
        }
        real = parse_real(input.bytes());
        if (!real || !std::isfinite(*real)) return fallback;
        return truncated(*real).mark_content(content);
    }
    if (!input.is(Kind::real) || std::isnan(input.as_double())) return fallback;
    return truncated(input.as_double()).mark_content(input.content());
}

Value float_filter(Runtime&, const Value& input, const Arguments& arguments) {
    const Parameters given("float", arguments, {"default"});
    if (input.is(Kind::undefined)) fault_undefined(input);
    if (input.is_number()) return Value::real(input.as_double()).mark_content(input.content());
    if (input.is(Kind::string)) {
        if (const auto real = parse_real(input.bytes()))
            return Value::real(*real).mark_content(input.text().has_content());
    }
    return given.has(0) ? given[0] : Value::real(0);
}

Value abs_filter(Runtime&, const Value& input, const Arguments& arguments) {
    Parameters("abs", arguments, {});
    if (input.is(Kind::undefined)) fault_undefined(input);
    if (!input.is_number()) fault("the filter abs needs a number, not a {}", type_name(input));
    if (input.is_integral()) return input.as_integer() < 0 ? negate(input) : plus(input);
    return Value::real(std::fabs(input.as_double())).mark_content(input.content());
}

// Correctly rounded in decimal, ties to even, as Python's round.
double round_decimal(double value, int64_t digits) {
    if (!std::isfinite(value) || digits > 300) return value;
    if (digits >= 0) return std::strtod(fmt::format("{:.{}f}", value, digits).c_str(), nullptr);
    if (digits < -300) return std::copysign(0.0, value);
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
}

Value round_filter(Runtime&, const Value& input, const Arguments& arguments) {
    const Parameters given("round", arguments, {"precision", "method"});
    if (input.is(Kind::undefined)) fault_undefined(input);
    if (!input.is_number()) fault("the filter round needs a number, not a {}", type_name(input));
    const int64_t digits = given.integer(0, 0);
    const std::string method = given.has(1) ? require_text(given[1], "round").bytes() : "common";
    if (method == "ceil" || method == "floor") {
        const double unit = std::pow(10.0, static_cast<double>(digits));
        const double scaled = input.as_double() * unit;
        return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit)
            .mark_content(input.content());
    }
    if (method != "common") fault("round's method is common, ceil or floor, not '{}'", method);
    if (input.is(Kind::real))
        return Value::real(round_decimal(input.as_double(), digits)).mark_content(input.content());
    if (digits >= 0) return plus(input);
    if (digits < -37) return Value::integer(0);
    Integer unit = 1;
    for (int64_t i = digits; i < 0; ++i) unit *= 10;
    const Integer value = input.as_integer();
    Integer low = value / unit * unit;
    if (low > value) low -= unit;
    const Integer above = value - low;
    const bool up = above * 2 > unit || (above * 2 == unit && (low / unit) % 2 != 0);
    return Value::integer(up ? low + unit : low).mark_content(input.content());
}

constexpr FilterDefinition kFilters[] = {
    {"abs", abs_filter},     {"attr", attr},           {"capitalize", capitalize},
    {"center", center},      {"d", default_filter},    {"default", default_filter},
    {"e", escape},           {"escape", escape},       {"float", float_filter},
    {"forceescape", escape}, {"format", format},       {"from_json", from_json},
    {"fromjson", from_json}, {"indent", indent},       {"int", int_filter},
    {"lower", lower},        {"replace", replace},     {"round", round_filter},
    {"safe", safe},          {"string", string},       {"title", title},
    {"tojson", tojson},      {"trim", trim},           {"truncate", truncate},
    {"upper", upper},        {"urlencode", urlencode}, {"wordcount", wordcount},
};

}  // namespace

Filter find_filter(std::string_view name) {
    const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                     [name](const FilterDefinition& filter) { return filter.name == name; });
    return found == std::end(kFilters) ? find_sequence_filter(name) : found->call;
}

}  // namespace colugo::jinja
