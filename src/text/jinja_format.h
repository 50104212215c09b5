// The presentation of one value in a format, shared by 'text' % arguments and 'text'.format(arguments).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/jinja_runtime.h"

namespace colugo::jinja {

// What a replacement asks for, in the terms of the format mini-language.
struct FormatSpec {
    std::string fill = " ";
    char align = 0;  // < > ^ = or 0 for the default of the type
    char sign = '-';
    bool alternate = false;
    char grouping = 0;  // , or _
    int64_t width = 0;
    int64_t precision = -1;
    char type = 0;
};

Text format_text(Runtime& runtime, const FormatSpec& spec, const Text& text);
Text format_number(Runtime& runtime, FormatSpec spec, const Value& value);

// Digits at `position`, which moves behind them; clamped far above any width that can be made.
int64_t read_number(std::string_view text, size_t& position);
void check_precision(int64_t precision);  // faults when no number has so many digits

}  // namespace colugo::jinja
