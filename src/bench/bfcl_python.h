// Values and text as Python treats them, which the rules of BFCL's checker are stated in.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colugo::bfcl {

using Json = nlohmann::ordered_json;

// The types of what JSON can say; true is a boolean and no integer, 1.0 no integer either.
enum class Type : uint8_t { none, boolean, integer, real, text, list, dict };

Type type_of(const Json& value);
std::string_view type_name(Type type);

// ==: numbers by value, true being 1; objects without order.
bool equal(const Json& a, const Json& b);
bool contains(const Json& list, const Json& value);

// Text without its white space, or without these characters, on both sides.
std::string_view strip(std::string_view text);
std::string_view strip(std::string_view text, std::string_view characters);
std::vector<std::string_view> split(std::string_view text, char separator);
// Without its first and its last character.
std::string_view without_ends(std::string_view text);
// Its characters, one a text.
std::vector<std::string_view> characters(std::string_view text);
std::string lower(std::string_view text);

// int(text) or else float(text): with blanks around, a sign, underscores between digits, inf and nan. An integer
// beyond 64 bits is a float.
std::optional<Json> number(std::string_view text);

// How a literal of a number is written, in ASCII digits; a line feed may follow.
struct NumberForm {
    bool fraction = false;  // may have one, and then the value is a float
    bool exponent = false;
    std::string_view suffixes = {};  // one of these letters has to follow
};
std::optional<Json> number(std::string_view text, const NumberForm& form);

}  // namespace colugo::bfcl
