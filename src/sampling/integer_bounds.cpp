#include "sampling/integer_bounds.h"

#include <algorithm>
#include <cmath>

namespace colugo {
namespace {

using nlohmann::ordered_json;

constexpr double kBeyond = 9223372036854775808.0;  // 2^63

// The least integer >= value, or > value; empty: beyond 64 bits.
std::optional<int64_t> least(const ordered_json& value, bool exclusive) {
    int64_t integer = 0;
    if (value.is_number_unsigned()) {
        if (value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
        integer = value.get<int64_t>();
    } else if (value.is_number_integer()) {
        integer = value.get<int64_t>();
    } else {
        const double number = value.get<double>(), up = std::ceil(number);
        if (up >= kBeyond) return std::nullopt;
        if (up < -kBeyond) return INT64_MIN;
        integer = static_cast<int64_t>(up);
        exclusive &= up == number;
    }
    if (!exclusive) return integer;
    if (integer == INT64_MAX) return std::nullopt;
    return integer + 1;
}

// The greatest integer <= value, or < value; empty: beyond 64 bits.
std::optional<int64_t> greatest(const ordered_json& value, bool exclusive) {
    int64_t integer = 0;
    if (value.is_number_unsigned()) {
        if (value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return INT64_MAX;
        integer = value.get<int64_t>();
    } else if (value.is_number_integer()) {
        integer = value.get<int64_t>();
    } else {
        const double number = value.get<double>(), down = std::floor(number);
        if (down < -kBeyond) return std::nullopt;
        if (down >= kBeyond) return INT64_MAX;
        integer = static_cast<int64_t>(down);
        exclusive &= down == number;
    }
    if (!exclusive) return integer;
    if (integer == INT64_MIN) return std::nullopt;
    return integer - 1;
}

}  // namespace

std::optional<IntegerBounds> read_integer_bounds(const SchemaDocument& document, const SchemaPlace& place) {
    IntegerBounds bounds{INT64_MIN, INT64_MAX};
    bool any = false;
    const auto number = [&](const char* keyword) -> const ordered_json* {
        if (!place.has(keyword)) return nullptr;
        any = true;
        const ordered_json& value = *place.at(keyword).value;
        if (!value.is_number()) document.refuse(place, keyword, "is {}; expected a number", excerpt(value.dump()));
        return &value;
    };
    for (const char* keyword : {"minimum", "exclusiveMinimum"})
        if (const ordered_json* value = number(keyword)) {
            const auto low = least(*value, keyword[0] == 'e');
            if (!low) document.refuse(place, keyword, "is more than any 64-bit integer");
            bounds.low = std::max(bounds.low, *low);
        }
    for (const char* keyword : {"maximum", "exclusiveMaximum"})
        if (const ordered_json* value = number(keyword)) {
            const auto high = greatest(*value, keyword[0] == 'e');
            if (!high || *high < bounds.low) document.refuse(place, keyword, "leaves no 64-bit integer");
            bounds.high = std::min(bounds.high, *high);
        }
    if (const ordered_json* value = number("multipleOf")) {
        const auto factor = least(*value, false);
        if (!factor || *factor < 1 || value->get<double>() != static_cast<double>(*factor))
            document.refuse(place, "multipleOf", "is {}; expected a whole number above 0", value->dump());
        bounds.factor = *factor;
    }
    return any ? std::optional(bounds) : std::nullopt;
}

}  // namespace colugo
