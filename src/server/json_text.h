// JSON from clients: with a limit on nesting, in time linear in its length, and never a fault for what Unicode lacks.
//
// What is no Unicode inside a string, ill-formed UTF-8 (text/utf8.h) or half a surrogate pair (\ud83d), becomes U+FFFD:
// a client repeats its history, so a refusal would be one of the whole conversation. Of a key that an object has twice
// the last value counts, at the place of the first, as in Python. A whole number beyond 64 bits becomes the nearest
// double, one beyond that is refused.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace colugo {

inline constexpr size_t kMaxRequestDepth = 128;

// A request's body. Throws ApiError (400) where it is not JSON, with the offset of the byte at fault, nested too deep,
// or no object.
nlohmann::ordered_json parse_request_body(std::string_view body);

// The same rules for a text inside a request, of any type; nothing where it breaks them.
std::optional<nlohmann::ordered_json> parse_json_text(std::string_view text);

}  // namespace colugo
