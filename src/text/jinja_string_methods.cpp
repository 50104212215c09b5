// The methods of Python's str. Positions are characters for the template and bytes in here.
#include <algorithm>

#include "text/jinja_fault.h"
#include "text/jinja_operators.h"
#include "text/jinja_print.h"
#include "text/jinja_text_functions.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

const Text& text_argument(const Value& value, std::string_view method) {
    if (value.is(Kind::undefined)) fault_undefined(value);
    if (!value.is(Kind::string)) fault("{}() needs a text, not a {}", method, type_name(value));
    return value.text();
}

Value markup_like(const Value& self, Text text) {
    text.set_markup(self.text().markup());
    return Value::string(std::move(text));
}

// ---- strip ---------------------------------------------------------------------------------------------------------

bool in_set(std::string_view set, char32_t c) {
    for (size_t at = 0; at < set.size();) {
        if (next_code_point(set, at) == c) return true;
    }
    return false;
}

Value strip(Runtime& runtime, const Value& self, const Arguments& arguments, std::string_view name, bool left,
            bool right) {
    const Parameters given(name, arguments, {"chars"});
    const Text& text = self.text();
    const std::string_view bytes = text.bytes();
    const Text* chars = given.given(0) == nullptr ? nullptr : &text_argument(*given.given(0), name);
    if (chars != nullptr) runtime.charge(chars->size());
    const auto drop = [&](char32_t c) { return chars == nullptr ? is_space(c) : in_set(chars->bytes(), c); };
    size_t begin = 0;
    size_t end = bytes.size();
    while (left && begin < end) {
        size_t next = begin;
        if (!drop(next_code_point(bytes, next))) break;
        begin = next;
    }
    while (right && end > begin) {
        const size_t start = previous_boundary(bytes, end);
        size_t next = start;
        if (!drop(next_code_point(bytes, next))) break;
        end = start;
    }
    return Value::string(text.slice(begin, end));
}

Value strip_both(Runtime& r, const Value& s, const Arguments& a) {
    return strip(r, s, a, "strip", true, true);
}
Value strip_left(Runtime& r, const Value& s, const Arguments& a) {
    return strip(r, s, a, "lstrip", true, false);
}
Value strip_right(Runtime& r, const Value& s, const Arguments& a) {
    return strip(r, s, a, "rstrip", false, true);
}

// ---- split ---------------------------------------------------------------------------------------------------------

std::vector<Value> split_space(Budget& budget, const Text& text, int64_t limit, bool from_right) {
    std::vector<Value> parts;
    const std::string_view bytes = text.bytes();
    if (!from_right) {
        size_t at = 0;
        while (true) {
            budget.charge_items(1);
            at += trim_space(bytes.substr(at)).begin;
            if (at >= bytes.size()) break;
            if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
                parts.push_back(Value::string(text.slice(at, bytes.size())));
                break;
            }
            size_t end = at;
            for (size_t next = end; next < bytes.size() && !is_space(next_code_point(bytes, next));) end = next;
            parts.push_back(Value::string(text.slice(at, end)));
            at = end;
        }
        return parts;
    }
    const size_t lead = trim_space(bytes).begin;
    size_t end = bytes.size();
    while (true) {
        budget.charge_items(1);
        end = std::max(lead, trim_space(bytes.substr(lead, end - lead)).end + lead);
        if (end == lead) break;
        if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
            parts.push_back(Value::string(text.slice(0, end)));
            break;
        }
        size_t begin = end;
        while (begin > 0) {
            const size_t start = previous_boundary(bytes, begin);
            size_t next = start;
            if (is_space(next_code_point(bytes, next))) break;
            begin = start;
        }
        parts.push_back(Value::string(text.slice(begin, end)));
        end = begin;
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
}

std::vector<Value> split_at(Budget& budget, const Text& text, std::string_view separator, int64_t limit,
                            bool from_right) {
    std::vector<Value> parts;
    const std::string& bytes = text.bytes();
    if (from_right) {
        size_t end = bytes.size();
        while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
            budget.charge_items(1);
            if (end < separator.size()) break;
            const size_t found = bytes.rfind(separator, end - separator.size());
            if (found == std::string::npos) break;
            parts.push_back(Value::string(text.slice(found + separator.size(), end)));
            end = found;
        }
        parts.push_back(Value::string(text.slice(0, end)));
        std::reverse(parts.begin(), parts.end());
        return parts;
    }
    size_t begin = 0;
    while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
        budget.charge_items(1);
        const size_t found = bytes.find(separator, begin);
        if (found == std::string::npos) break;
        parts.push_back(Value::string(text.slice(begin, found)));
        begin = found + separator.size();
    }
    parts.push_back(Value::string(text.slice(begin, bytes.size())));
    return parts;
}

Value split_any(Runtime& runtime, const Value& self, const Arguments& arguments, std::string_view name,
                bool from_right) {
    const Parameters given(name, arguments, {"sep", "maxsplit"});
    const int64_t limit = given.integer(1, -1);
    std::vector<Value> parts;
    if (const Value* separator = given.given(0)) {
        const Text& text = text_argument(*separator, name);
        if (text.empty()) fault("{}() needs a separator that is not empty", name);
        parts = split_at(runtime, self.text(), text.bytes(), limit, from_right);
    } else {
        parts = split_space(runtime, self.text(), limit, from_right);
    }
    return Value::list(std::move(parts));
}

Value split(Runtime& r, const Value& s, const Arguments& a) {
    return split_any(r, s, a, "split", false);
}
Value rsplit(Runtime& r, const Value& s, const Arguments& a) {
    return split_any(r, s, a, "rsplit", true);
}

Value splitlines(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Parameters given("splitlines", arguments, {"keepends"});
    const bool keep = given.flag(0, false);
    const Text& text = self.text();
    const std::string_view bytes = text.bytes();
    std::vector<Value> lines;
    size_t begin = 0;
    for (size_t at = 0; at < bytes.size();) {
        const size_t line_end = at;
        const char32_t c = next_code_point(bytes, at);
        if (!is_line_break(c)) continue;
        if (c == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
        runtime.charge_items(1);
        lines.push_back(Value::string(text.slice(begin, keep ? at : line_end)));
        begin = at;
    }
    if (begin < bytes.size()) lines.push_back(Value::string(text.slice(begin, bytes.size())));
    return Value::list(std::move(lines));
}

Value partition_any(const Value& self, const Arguments& arguments, std::string_view name, bool from_right) {
    const Parameters given(name, arguments, {"sep"}, 1);
    const Text& separator = text_argument(given[0], name);
    if (separator.empty()) fault("{}() needs a separator that is not empty", name);
    const Text& text = self.text();
    const std::string& bytes = text.bytes();
    const size_t found = from_right ? bytes.rfind(separator.bytes()) : bytes.find(separator.bytes());
    const Value empty = markup_like(self, {});
    if (found == std::string::npos) {
        return from_right ? Value::tuple({empty, empty, self}) : Value::tuple({self, empty, empty});
    }
    const size_t end = found + separator.size();
    return Value::tuple({Value::string(text.slice(0, found)), Value::string(text.slice(found, end)),
                         Value::string(text.slice(end, text.size()))});
}

Value partition(Runtime&, const Value& s, const Arguments& a) {
    return partition_any(s, a, "partition", false);
}
Value rpartition(Runtime&, const Value& s, const Arguments& a) {
    return partition_any(s, a, "rpartition", true);
}

// ---- search --------------------------------------------------------------------------------------------------------

// The bytes of text[start:end] for the optional arguments at `first`, or nothing when start lies behind the end.
struct Window {
    size_t begin;
    size_t end;
    bool valid;
};

Window window(const std::string& bytes, const Parameters& given, size_t first) {
    if (given.given(first) == nullptr && given.given(first + 1) == nullptr) return {0, bytes.size(), true};
    const auto length = static_cast<int64_t>(count_code_points(bytes));
    const auto bound = [&](size_t index, int64_t fallback) {
        if (given.given(index) == nullptr) return fallback;
        const int64_t value = to_int64(given[index], "start or end");
        return value < 0 ? std::max<int64_t>(0, value + length) : value;
    };
    const int64_t begin = bound(first, 0);
    const int64_t end = std::min(bound(first + 1, length), length);
    if (begin > end) return {0, 0, false};
    return {offset_of_character(bytes, static_cast<size_t>(begin)),
            offset_of_character(bytes, static_cast<size_t>(end)), true};
}

Value affix(const Value& self, const Arguments& arguments, std::string_view name, bool at_start) {
    const Parameters given(name, arguments, {"affix", "start", "end"}, 1);
    const Window part = window(self.bytes(), given, 1);
    const std::string_view text = std::string_view(self.bytes()).substr(part.begin, part.end - part.begin);
    const auto matches = [&](const Value& candidate) {
        const std::string& bytes = text_argument(candidate, name).bytes();
        return part.valid && (at_start ? text.starts_with(bytes) : text.ends_with(bytes));
    };
    if (!given[0].is(Kind::tuple)) return Value::boolean(matches(given[0]));
    const auto& candidates = given[0].items();
    return Value::boolean(std::any_of(candidates.begin(), candidates.end(), matches));
}

Value startswith(Runtime&, const Value& s, const Arguments& a) {
    return affix(s, a, "startswith", true);
}
Value endswith(Runtime&, const Value& s, const Arguments& a) {
    return affix(s, a, "endswith", false);
}

Value find_any(const Value& self, const Arguments& arguments, std::string_view name, bool from_right, bool must) {
    const Parameters given(name, arguments, {"sub", "start", "end"}, 1);
    const std::string& needle = text_argument(given[0], name).bytes();
    const Window part = window(self.bytes(), given, 1);
    const std::string_view text = std::string_view(self.bytes()).substr(part.begin, part.end - part.begin);
    const size_t found = from_right ? text.rfind(needle) : text.find(needle);
    if (!part.valid || found == std::string_view::npos) {
        if (must) fault("{}() does not find the text", name);
        return Value::integer(-1);
    }
    return Value::integer(
        static_cast<int64_t>(count_code_points(std::string_view(self.bytes()).substr(0, part.begin + found))));
}

Value find(Runtime&, const Value& s, const Arguments& a) {
    return find_any(s, a, "find", false, false);
}
Value rfind(Runtime&, const Value& s, const Arguments& a) {
    return find_any(s, a, "rfind", true, false);
}
Value index(Runtime&, const Value& s, const Arguments& a) {
    return find_any(s, a, "index", false, true);
}
Value rindex(Runtime&, const Value& s, const Arguments& a) {
    return find_any(s, a, "rindex", true, true);
}

Value count(Runtime&, const Value& self, const Arguments& arguments) {
    const Parameters given("count", arguments, {"sub", "start", "end"}, 1);
    const std::string& needle = text_argument(given[0], "count").bytes();
    const Window part = window(self.bytes(), given, 1);
    const std::string_view text = std::string_view(self.bytes()).substr(part.begin, part.end - part.begin);
    if (!part.valid) return Value::integer(0);
    if (needle.empty()) return Value::integer(static_cast<int64_t>(count_code_points(text)) + 1);
    int64_t times = 0;
    for (size_t at = text.find(needle); at != std::string_view::npos; at = text.find(needle, at + needle.size()))
        ++times;
    return Value::integer(times);
}

// ---- rebuild -------------------------------------------------------------------------------------------------------

Value replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Parameters given("replace", arguments, {"old", "new", "count"}, 2);
    const Text& replacement = text_argument(given[1], "replace");
    return Value::string(replace_text(runtime, self.text(), text_argument(given[0], "replace").bytes(),
                                      self.text().markup() ? escape_html(replacement) : replacement,
                                      given.integer(2, -1)));
}

Value join(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Parameters given("join", arguments, {"iterable"}, 1);
    Text out;
    size_t counted = 0;
    bool first = true;
    for (const Value& item : iterate(runtime, given[0])) {
        runtime.charge(1);
        const Text& text = text_argument(item, "join");
        if (!first) out.append(self.text());
        first = false;
        out.append(self.text().markup() ? escape_html(text) : text);
        runtime.count_growth(out.size(), counted);
    }
    return markup_like(self, std::move(out));
}

Value remove_prefix(Runtime&, const Value& self, const Arguments& arguments) {
    const Parameters given("removeprefix", arguments, {"prefix"}, 1);
    const std::string& prefix = text_argument(given[0], "removeprefix").bytes();
    return self.bytes().starts_with(prefix) ? Value::string(self.text().slice(prefix.size(), self.bytes().size()))
                                            : self;
}

Value remove_suffix(Runtime&, const Value& self, const Arguments& arguments) {
    const Parameters given("removesuffix", arguments, {"suffix"}, 1);
    const std::string& suffix = text_argument(given[0], "removesuffix").bytes();
    if (suffix.empty() || !self.bytes().ends_with(suffix)) return self;
    return Value::string(self.text().slice(0, self.bytes().size() - suffix.size()));
}

Value pad(Runtime& runtime, const Value& self, const Arguments& arguments, std::string_view name, bool left,
          bool right) {
    const Parameters given(name, arguments, {"width", "fillchar"}, 1);
    const int64_t width = to_int64(given[0], "width");
    const Text fill = given.has(1) ? text_argument(given[1], name) : Text(" ", false);
    if (count_code_points(fill.bytes()) != 1) fault("{}() fills with one character", name);
    return markup_like(self, pad_text(runtime, self.text(), width, fill, left, right));
}

Value center(Runtime& r, const Value& s, const Arguments& a) {
    return pad(r, s, a, "center", true, true);
}
Value ljust(Runtime& r, const Value& s, const Arguments& a) {
    return pad(r, s, a, "ljust", false, true);
}
Value rjust(Runtime& r, const Value& s, const Arguments& a) {
    return pad(r, s, a, "rjust", true, false);
}

Value zfill(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Parameters given("zfill", arguments, {"width"}, 1);
    const Text& text = self.text();
    const bool sign = !text.empty() && (text.bytes().front() == '+' || text.bytes().front() == '-');
    Text out = text.slice(0, sign ? 1 : 0);
    const int64_t width = to_int64(given[0], "width") - (sign ? 1 : 0);
    out.append(pad_text(runtime, text.slice(sign ? 1 : 0, text.size()), width, Text("0", false), true, false));
    return markup_like(self, std::move(out));
}

Value expandtabs(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Parameters given("expandtabs", arguments, {"tabsize"});
    const int64_t size = std::max<int64_t>(0, given.integer(0, 8));
    const Text& text = self.text();
    Text out;
    int64_t column = 0;
    size_t counted = 0;
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        const char32_t c = next_code_point(text.bytes(), end);
        if (c == '\t') {
            const int64_t spaces = size == 0 ? 0 : size - column % size;
            runtime.admit_bytes(static_cast<size_t>(spaces));
            out.append(std::string(static_cast<size_t>(spaces), ' '), text.content_at(begin));
            column += spaces;
        } else {
            out.append(text, begin, end);
            column = c == '\n' || c == '\r' ? 0 : column + 1;
        }
        runtime.count_growth(out.size(), counted);
    }
    return markup_like(self, std::move(out));
}

// ---- letter case ---------------------------------------------------------------------------------------------------

using MapCase = void (*)(std::string& out, char32_t c);

Value map_case(const Value& self, MapCase map) {
    return markup_like(self, map_characters(self.text(), [map](std::string& out, char32_t c, bool) { map(out, c); }));
}

Value upper(Runtime&, const Value& s, const Arguments& a) {
    return Parameters("upper", a, {}), map_case(s, append_upper);
}
Value lower(Runtime&, const Value& s, const Arguments& a) {
    return Parameters("lower", a, {}), markup_like(s, lower_text(s.text()));
}
Value casefold(Runtime&, const Value& s, const Arguments& a) {
    return Parameters("casefold", a, {}), map_case(s, append_folded);
}
Value swapcase(Runtime&, const Value& s, const Arguments& a) {
    Parameters("swapcase", a, {});
    return map_case(s, [](std::string& out, char32_t c) { is_upper(c) ? append_lower(out, c) : append_upper(out, c); });
}
Value capitalize(Runtime&, const Value& s, const Arguments& a) {
    Parameters("capitalize", a, {});
    return markup_like(s, map_characters(s.text(), [](std::string& out, char32_t c, bool first) {
                           first ? append_title(out, c) : append_lower(out, c);
                       }));
}
Value title(Runtime&, const Value& s, const Arguments& a) {
    Parameters("title", a, {});
    bool in_word = false;
    return markup_like(s, map_characters(s.text(), [&in_word](std::string& out, char32_t c, bool) {
                           in_word ? append_lower(out, c) : append_title(out, c);
                           in_word = is_upper(c) || is_lower(c) || is_title(c);
                       }));
}

// ---- tests ---------------------------------------------------------------------------------------------------------

Value all_are(const Value& self, bool (*test)(char32_t), bool of_empty = false) {
    const std::string& bytes = self.bytes();
    if (bytes.empty()) return Value::boolean(of_empty);
    for (size_t at = 0; at < bytes.size();) {
        if (!test(next_code_point(bytes, at))) return Value::boolean(false);
    }
    return Value::boolean(true);
}

Value isalpha(Runtime&, const Value& s, const Arguments&) {
    return all_are(s, is_alpha);
}
Value isdigit(Runtime&, const Value& s, const Arguments&) {
    return all_are(s, is_digit);
}
Value isdecimal(Runtime&, const Value& s, const Arguments&) {
    return all_are(s, is_decimal);
}
Value isnumeric(Runtime&, const Value& s, const Arguments&) {
    return all_are(s, is_numeric);
}
Value isalnum(Runtime&, const Value& s, const Arguments&) {
    return all_are(s, is_alnum);
}
Value isspace(Runtime&, const Value& s, const Arguments&) {
    return all_are(s, is_space);
}
Value isprintable(Runtime&, const Value& s, const Arguments&) {
    return all_are(s, is_printable, true);
}
Value isascii(Runtime&, const Value& s, const Arguments&) {
    return all_are(
        s, [](char32_t c) { return c < 0x80; }, true);
}
Value isupper(Runtime&, const Value& s, const Arguments&) {
    return Value::boolean(has_only_case(s.bytes(), true));
}
Value islower(Runtime&, const Value& s, const Arguments&) {
    return Value::boolean(has_only_case(s.bytes(), false));
}

Value istitle(Runtime&, const Value& self, const Arguments&) {
    bool cased = false;
    bool in_word = false;
    for (size_t at = 0; at < self.bytes().size();) {
        const char32_t c = next_code_point(self.bytes(), at);
        if (is_upper(c) || is_title(c)) {
            if (in_word) return Value::boolean(false);
            in_word = cased = true;
        } else if (is_lower(c)) {
            if (!in_word) return Value::boolean(false);
        } else {
            in_word = false;
        }
    }
    return Value::boolean(cased);
}

// ---- format --------------------------------------------------------------------------------------------------------

Value format(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return format_braces(runtime, self.text(), arguments);
}

Value format_map(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Parameters given("format_map", arguments, {"mapping"}, 1);
    if (!given[0].is(Kind::dict)) fault("format_map() needs a mapping, not a {}", type_name(given[0]));
    Arguments named;
    for (const auto& [key, value] : given[0].as<DictObject>().entries) {
        if (key.is(Kind::string)) named.named.emplace_back(key.bytes(), value);
    }
    return format_braces(runtime, self.text(), named);
}

constexpr MethodDefinition kMethods[] = {
    {"capitalize", capitalize},
    {"casefold", casefold},
    {"center", center},
    {"count", count},
    {"endswith", endswith},
    {"expandtabs", expandtabs},
    {"find", find},
    {"format", format},
    {"format_map", format_map},
    {"index", index},
    {"isalnum", isalnum},
    {"isalpha", isalpha},
    {"isascii", isascii},
    {"isdecimal", isdecimal},
    {"isdigit", isdigit},
    {"islower", islower},
    {"isnumeric", isnumeric},
    {"isprintable", isprintable},
    {"isspace", isspace},
    {"istitle", istitle},
    {"isupper", isupper},
    {"join", join},
    {"ljust", ljust},
    {"lower", lower},
    {"lstrip", strip_left},
    {"partition", partition},
    {"removeprefix", remove_prefix},
    {"removesuffix", remove_suffix},
    {"replace", replace},
    {"rfind", rfind},
    {"rindex", rindex},
    {"rjust", rjust},
    {"rpartition", rpartition},
    {"rsplit", rsplit},
    {"rstrip", strip_right},
    {"split", split},
    {"splitlines", splitlines},
    {"startswith", startswith},
    {"strip", strip_both},
    {"swapcase", swapcase},
    {"title", title},
    {"upper", upper},
    {"zfill", zfill},
};

}  // namespace

const MethodDefinition* find_string_method(std::string_view name) {
    const auto* found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                     [name](const MethodDefinition& method) { return method.name == name; });
    return found == std::end(kMethods) ? nullptr : found;
}

}  // namespace colugo::jinja
