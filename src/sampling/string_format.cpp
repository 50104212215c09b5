#include "sampling/string_format.h"

#include <array>
#include <utility>

namespace colugo {
namespace {

// Days 1 to 28 of any month, 29 and 30 of all but February, 31, and 29 February of leap years.
#define DATE_PATTERN                                                                                                \
    "(?:[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)" \
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define TIME_PATTERN                                               \
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?" \
    "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
#define BYTE_PATTERN "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define LABEL_PATTERN "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"

#define HOST_PATTERN "[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*"
#define PORT_PATTERN "(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
#define PATH_PATTERN "(?:[-A-Za-z0-9._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*"
#define QUERY_PATTERN "(?:[-A-Za-z0-9._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*"

constexpr std::array kFormats = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"date", "^" DATE_PATTERN "$"},
    {"time", "^" TIME_PATTERN "$"},
    {"date-time", "^" DATE_PATTERN "T" TIME_PATTERN "$"},
    {"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
    {"email", "^[A-Za-z0-9_+-]+(?:\\.[A-Za-z0-9_+-]+)*@" LABEL_PATTERN "(?:\\." LABEL_PATTERN ")+$"},
    {"ipv4", "^" BYTE_PATTERN "(?:\\." BYTE_PATTERN "){3}$"},
    {"uri", "^(?:[a-z][a-z0-9+.-]*://" HOST_PATTERN "(?::" PORT_PATTERN ")?(?:/" PATH_PATTERN ")?|file:///" PATH_PATTERN
            ")(?:\\?" QUERY_PATTERN ")?(?:#" QUERY_PATTERN ")?$"},
});

}  // namespace

std::optional<std::string_view> format_pattern(std::string_view name) {
    for (const auto& [format, pattern] : kFormats)
        if (format == name) return pattern;
    return std::nullopt;
}

}  // namespace colugo
