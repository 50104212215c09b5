#include "text/compact_json.h"

namespace colugo {

using nlohmann::ordered_json;

std::string compact_json(const ordered_json& value) {
    return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json parse_json(std::string_view text) {
    if (text.find('\0') != text.npos) return ordered_json(ordered_json::value_t::discarded);
    return ordered_json::parse(text, nullptr, false);
}

std::string json_escaped(std::string_view text) {
    const std::string quoted = compact_json(ordered_json(std::string(text)));
    return quoted.substr(1, quoted.size() - 2);
}

}  // namespace colugo
