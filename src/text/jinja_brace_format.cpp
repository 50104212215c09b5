// 'text'.format(arguments).
#include <algorithm>
#include <cmath>

#include "text/jinja_fault.h"
#include "text/jinja_format.h"
#include "text/jinja_operators.h"
#include "text/jinja_print.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

class BraceFormatter {
 public:
    BraceFormatter(Runtime& runtime, const Text& format, const Arguments& arguments)
        : runtime_(runtime), format_(format), arguments_(arguments) {}

    Value run() {
        Text out = expand(0, format_.size(), 0);
        out.set_markup(format_.markup());
        return Value::string(std::move(out));
    }

 private:
    // Replaces the fields of bytes [begin, end); a spec may hold fields of its own, one level deep.
    Text expand(size_t begin, size_t end, int level) {
        if (level > 2) fault("the fields of a format nest too deeply");
        const std::string& source = format_.bytes();
        Text out;
        size_t counted = 0;
        for (size_t at = begin; at < end;) {
            const size_t brace = std::min(source.find_first_of("{}", at), end);
            out.append(format_, at, brace);
            if (brace == end) break;
            if (brace + 1 < end && source[brace + 1] == source[brace]) {
                out.append(format_, brace, brace + 1);
                at = brace + 2;
                continue;
            }
            if (source[brace] == '}') fault("a format has a single '}}'");
            const size_t close = matching_brace(brace, end);
            out.append(field(brace + 1, close, level));
            at = close + 1;
            runtime_.count_growth(out.size(), counted);
        }
        return out;
    }

    size_t matching_brace(size_t open, size_t end) const {
        const std::string& source = format_.bytes();
        int nesting = 0;
        for (size_t i = open; i < end; ++i) {
            if (source[i] == '{') ++nesting;
            if (source[i] == '}' && --nesting == 0) return i;
        }
        fault("a format has a single '{{'");
    }

    Text field(size_t begin, size_t end, int level) {
        const std::string_view source(format_.bytes());
        size_t name_end = begin;
        while (name_end < end && source[name_end] != '!' && source[name_end] != ':') {
            if (source[name_end] == '[') name_end = std::min(source.find(']', name_end), end - 1);
            ++name_end;
        }
        Value value = lookup(source.substr(begin, name_end - begin));
        size_t at = name_end;
        char conversion = 0;
        if (at < end && source[at] == '!') {
            if (at + 1 >= end) fault("a format has '!' without a conversion");
            conversion = source[at + 1];
            at += 2;
        }
        Text spec;
        if (at < end) {
            if (source[at] != ':') fault("a format has '{}' where ':' belongs", source[at]);
            spec = expand(at + 1, end, level + 1);
        }
        if (conversion == 'r' || conversion == 'a') value = Value::string(repr_of(runtime_, value));
        if (conversion == 's') value = Value::string(str_of(runtime_, value));
        if (conversion != 0 && conversion != 'r' && conversion != 'a' && conversion != 's') {
            fault("a format has no conversion '!{}'", conversion);
        }
        Text text = present(value, spec.bytes());
        return format_.markup() ? escape_html(text) : text;
    }

    Value lookup(std::string_view name) {
        const size_t first_end = std::min(name.find_first_of(".["), name.size());
        const std::string_view first = name.substr(0, first_end);
        Value value = argument(first);
        size_t at = first_end;
        while (at < name.size()) {
            if (name[at] == '.') {
                const size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
                value = get_attribute(runtime_, value, name.substr(at + 1, end - at - 1));
                at = end;
            } else {
                const size_t close = name.find(']', at);
                if (close == std::string_view::npos) fault("a format has '[' without ']'");
                const std::string_view key = name.substr(at + 1, close - at - 1);
                const bool index = !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
                value = get_item(runtime_, value,
                                 index ? Value::integer(parse_integer(key, 10).value_or(0)) : Value::literal(key));
                at = close + 1;
            }
        }
        return value;
    }

    const Value& argument(std::string_view name) {
        size_t index = next_;
        if (name.empty()) {
            ++next_;
        } else if (name.find_first_not_of("0123456789") == std::string_view::npos) {
            index = static_cast<size_t>(parse_integer(name.substr(0, 9), 10).value_or(0));
        } else {
            for (const auto& [key, value] : arguments_.named) {
                if (key == name) return value;
            }
            fault("the format has no argument '{}'", name);
        }
        if (index >= arguments_.positional.size()) fault("the format has no argument {}", index);
        return arguments_.positional[index];
    }

    Text present(const Value& value, std::string_view source) {
        if (source.empty()) return str_of(runtime_, value);
        const FormatSpec spec = parse_spec(source);
        static constexpr std::string_view kNumberTypes = "bcdeEfFgGnoxX%";
        if (value.is(Kind::string)) {
            if (spec.type != 0 && spec.type != 's') fault("'{}' cannot format a text", spec.type);
            return format_text(runtime_, spec, value.text());
        }
        if (value.is_number()) {
            if (spec.type != 0 && kNumberTypes.find(spec.type) == std::string_view::npos) {
                fault("'{}' cannot format a number", spec.type);
            }
            if (value.is(Kind::real) && std::string_view("bcdoxX").find(spec.type) != std::string_view::npos &&
                spec.type != 0) {
                fault("'{}' cannot format a float", spec.type);
            }
            return format_number(runtime_, spec, value);
        }
        if (value.is(Kind::undefined)) fault_undefined(value);
        fault("'{}' does not support the format '{}'", type_name(value), source);
    }

    static FormatSpec parse_spec(std::string_view source) {
        static constexpr std::string_view kAligns = "<>^=";
        FormatSpec spec;
        size_t at = 0;
        size_t after_first = 0;
        next_code_point(source, after_first);
        if (after_first < source.size() && kAligns.find(source[after_first]) != std::string_view::npos) {
            spec.fill = std::string(source.substr(0, after_first));
            spec.align = source[after_first];
            at = after_first + 1;
        } else if (kAligns.find(source[0]) != std::string_view::npos) {
            spec.align = source[at++];
        }
        const auto take = [&](std::string_view set) {
            return at < source.size() && set.find(source[at]) != std::string_view::npos ? source[at++] : '\0';
        };
        if (const char sign = take("+- ")) spec.sign = sign;
        if (take("#")) spec.alternate = true;
        if (take("0") && spec.align == 0) {
            spec.align = '=';
            spec.fill.assign(1, '0');
        }
        spec.width = read_number(source, at);
        spec.grouping = take(",_");
        if (take(".")) {
            spec.precision = read_number(source, at);
            check_precision(spec.precision);
        }
        if (at < source.size()) spec.type = source[at++];
        if (at < source.size()) fault("the format '{}' is not one Python knows", source);
        return spec;
    }

    Runtime& runtime_;
    const Text& format_;
    const Arguments& arguments_;
    size_t next_ = 0;
};

}  // namespace

Value format_braces(Runtime& runtime, const Text& format, const Arguments& arguments) {
    return BraceFormatter(runtime, format, arguments).run();
}

}  // namespace colugo::jinja
