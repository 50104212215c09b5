// The operators of expressions, with Python's rules for mixed types.
#pragma once

#include "text/jinja_runtime.h"

namespace colugo::jinja {

enum class Operator { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

Value apply(Runtime& runtime, Operator op, const Value& left, const Value& right);
bool compare(Runtime& runtime, Comparison op, const Value& left, const Value& right);
Value negate(const Value& value);
Value plus(const Value& value);

// left in right; takes items out of an iterator up to the one found.
bool contains(Runtime& runtime, const Value& container, const Value& item);

Text escape_html(const Text& text);  // markupsafe.escape; the result is markup

// Formatting (jinja_format.cpp): format % arguments, str.format, and the digits of a number in one printf-like
// conversion.
Value format_percent(Runtime& runtime, const Text& format, const Value& arguments);
Value format_braces(Runtime& runtime, const Text& format, const Arguments& arguments);

}  // namespace colugo::jinja
