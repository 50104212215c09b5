// JSON as it is sent and kept: on one line, always in valid UTF-8.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace colugo {

// Bytes that are no UTF-8 become U+FFFD.
std::string compact_json(const nlohmann::ordered_json& value);

// The value that `text` is; discarded (is_discarded()) where it is none, as with a zero byte in it, which the library
// takes for the end.
nlohmann::ordered_json parse_json(std::string_view text);

// `text` as the inside of a JSON string.
std::string json_escaped(std::string_view text);

}  // namespace colugo
