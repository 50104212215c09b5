// The formats of strings that schemas name.
#pragma once

#include <optional>
#include <string_view>

namespace colugo {

// The pattern (pattern.h) of date, time, date-time, uuid, email, ipv4 and uri; none for any other name. Dates are those
// of the calendar; times have an offset and no leap second (RFC 3339); addresses are the common form: words joined by
// dots, without quotes, at a domain's name; URIs (RFC 3986) are file:///PATH or have a host, in letters, digits, dots
// and single hyphens.
std::optional<std::string_view> format_pattern(std::string_view name);

}  // namespace colugo
