// Values as text: Python's str() and repr(), json.dumps, and the formatting of numbers they share.
#pragma once

#include <optional>
#include <string>

#include "text/jinja_runtime.h"

namespace colugo::jinja {

Text str_of(Runtime& runtime, const Value& value);   // str(value)
Text repr_of(Runtime& runtime, const Value& value);  // repr(value)

std::string format_integer(Integer value);
std::string format_real(double value);  // repr of a float: the shortest digits that read back as the same number
// An int literal of Python's int(text, base), spaces and underscores included; nothing when it is not one.
std::optional<Integer> parse_integer(std::string_view text, int base);
std::optional<double> parse_real(std::string_view text);

struct JsonStyle {
    bool ensure_ascii = false;
    bool sort_keys = false;
    bool multi_line = false;  // indent was given
    Text indent;
    Text item_separator;
    Text key_separator;
};
Text to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace colugo::jinja
