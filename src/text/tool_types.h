// What a tool's JSON schema says of its arguments' types, and the JSON of an argument that a model wrote as plain text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

// A set of JSON's types.
struct ValueTypes {
    enum Type : uint8_t { string = 1, integer = 2, number = 4, boolean = 8, null = 16, object = 32, array = 64 };
    uint8_t bits = string;

    bool has(Type type) const { return (bits & type) != 0; }
    bool only(uint8_t types) const { return (bits & ~types) == 0; }
};

struct ToolTypes {
    struct Parameter {
        std::string name;
        ValueTypes types;
    };
    std::string name;
    std::vector<Parameter> parameters;

    const Parameter* find(std::string_view parameter) const;
};

// tools: a request's, [{"type": "function", "function": {"name", "parameters": {"properties": ...}}}, ...]; what is not
// of this form is left out. Parameters are those of "properties", in the schema itself, in what its "$ref" names, and
// in the parts of its "allOf", "anyOf" and "oneOf". One whose schema names no type is a string. Types are those of
// "type", else of "enum", "const", what "$ref" names, all alternatives of "anyOf" and "oneOf", and what the parts of
// "allOf" have in common.
std::vector<ToolTypes> tool_types(const nlohmann::ordered_json& tools);

// The JSON text of a value that was written as `text`. A string stays as it is where the types are string alone. Else,
// in this order: null or None is null, where null is a type or string is none; a JSON value, or Python's way to write
// one, of one of the types that are no string, a whole number in any form being an integer; the text as a string. So a
// value that does not fit its type is not lost.
std::string argument_json(std::string_view text, ValueTypes types);

}  // namespace colugo
