// JSON as it is sent and kept: on one line, always in valid UTF-8.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace colugo {

// Bytes that are no UTF-8 become U+FFFD.
std::string compact_json(const nlohmann::ordered_json& value);

// `text` as the inside of a JSON string.
std::string json_escaped(std::string_view text);

}  // namespace colugo
