// A check for options that count something. CLI11 alone would read 010 as 8 and cut what is too large.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace colugo {

// Decimal digits from min to max, with a minus sign where min is negative.
inline CLI::Validator whole_number(int64_t min, int64_t max) {
    const auto check = [min, max](std::string& text) -> std::string {
        const char* const end = text.data() + text.size();
        int64_t value = 0;
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc() || stop != end || value < min || value > max) {
            return fmt::format("{} is not a whole number from {} to {}", text, min, max);
        }
        text = std::to_string(value);  // without leading zeros
        return {};
    };
    return CLI::Validator(check, fmt::format("{}..{}", min, max));
}

}  // namespace colugo
