#include "text/tool_types.h"

#include <algorithm>
#include <cmath>

#include "text/python_literal.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

constexpr int kMostNesting = 32;  // of schemas within a parameter's
constexpr int kMostReferences = 256;

uint8_t type_named(const ordered_json& name) {
    if (name == "string") return ValueTypes::string;
    if (name == "integer") return ValueTypes::integer;
    if (name == "number") return ValueTypes::number;
    if (name == "boolean") return ValueTypes::boolean;
    if (name == "null") return ValueTypes::null;
    if (name == "object") return ValueTypes::object;
    if (name == "array") return ValueTypes::array;
    return 0;
}

uint8_t type_of(const ordered_json& value) {
    switch (value.type()) {
        case ordered_json::value_t::string:
            return ValueTypes::string;
        case ordered_json::value_t::number_integer:
        case ordered_json::value_t::number_unsigned:
            return ValueTypes::integer;
        case ordered_json::value_t::number_float:
            return ValueTypes::number;
        case ordered_json::value_t::boolean:
            return ValueTypes::boolean;
        case ordered_json::value_t::null:
            return ValueTypes::null;
        case ordered_json::value_t::object:
            return ValueTypes::object;
        case ordered_json::value_t::array:
            return ValueTypes::array;
        default:
            return 0;
    }
}

const ordered_json* member(const ordered_json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto at = object.find(key);
    return at != object.end() ? &*at : nullptr;
}

// Reads the types of the schemas within one tool's.
class SchemaTypes {
 public:
    explicit SchemaTypes(const ordered_json& root) : root_(root) {}

    ValueTypes of(const ordered_json& schema) {
        const uint8_t bits = bits_of(schema, 0);
        return bits != 0 ? ValueTypes{bits} : ValueTypes{};
    }

 private:
    uint8_t bits_of(const ordered_json& schema, int nesting) {
        if (nesting > kMostNesting || ++visited_ > kMostReferences) return 0;
        uint8_t bits = 0;
        if (const auto* type = member(schema, "type")) {
            bits |= type_named(*type);
            if (type->is_array()) {
                for (const ordered_json& one : *type) bits |= type_named(one);
            }
        }
        if (bits != 0) return bits;
        if (const auto* constant = member(schema, "const")) bits |= type_of(*constant);
        if (const auto* values = member(schema, "enum"); values != nullptr && values->is_array()) {
            for (const ordered_json& value : *values) bits |= type_of(value);
        }
        for (const char* key : {"anyOf", "oneOf", "allOf"}) {
            const auto* alternatives = member(schema, key);
            if (alternatives == nullptr || !alternatives->is_array()) continue;
            for (const ordered_json& one : *alternatives) bits |= bits_of(one, nesting + 1);
        }
        if (const auto* reference = member(schema, "$ref")) bits |= referenced(*reference, nesting);
        if (bits != 0) return bits;
        if (member(schema, "properties") != nullptr) return ValueTypes::object;
        if (member(schema, "items") != nullptr) return ValueTypes::array;
        return 0;
    }

    uint8_t referenced(const ordered_json& reference, int nesting) {
        const auto* text = reference.get_ptr<const std::string*>();
        if (text == nullptr || !text->starts_with('#')) return 0;
        try {
            const ordered_json::json_pointer pointer(text->substr(1));
            return root_.contains(pointer) ? bits_of(root_.at(pointer), nesting + 1) : uint8_t{0};
        } catch (const ordered_json::exception&) {
            return 0;  // it points nowhere
        }
    }

    const ordered_json& root_;
    int visited_ = 0;
};

bool same_word(std::string_view text, std::string_view lower) {
    return std::ranges::equal(text, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpaces = " \t\r\n";
    const size_t begin = text.find_first_not_of(kSpaces);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

std::string dumped(const ordered_json& value) {
    return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// A JSON number's text as it is, so that nothing of it is rounded; a whole one without its fraction, for an integer.
std::string number_json(std::string_view text, const ordered_json& value, ValueTypes types) {
    if (!value.is_number_float() || types.has(ValueTypes::number)) return std::string(text);
    constexpr double kExact = 9007199254740992.0;  // 2^53
    const double number = value.get<double>();
    if (number != std::floor(number) || std::abs(number) > kExact) return {};
    return std::to_string(static_cast<int64_t>(number));
}

// Empty where the text is no value of the types, string left aside.
std::string typed_json(std::string_view text, ValueTypes types) {
    const bool is_null = text == "null" || text == "None";
    if (is_null && (types.has(ValueTypes::null) || !types.has(ValueTypes::string))) return "null";
    if (types.has(ValueTypes::boolean) && same_word(text, "true")) return "true";
    if (types.has(ValueTypes::boolean) && same_word(text, "false")) return "false";
    if (types.only(ValueTypes::string | ValueTypes::null | ValueTypes::boolean)) return {};
    const ordered_json value = parse_literal(text);
    if (value.is_number()) {
        return types.has(ValueTypes::integer) || types.has(ValueTypes::number) ? number_json(text, value, types) : "";
    }
    const bool structures = types.has(ValueTypes::object) || types.has(ValueTypes::array);
    return structures && value.is_structured() ? dumped(value) : "";
}

}  // namespace

const ToolTypes::Parameter* ToolTypes::find(std::string_view parameter) const {
    const auto at =
        std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& one) { return one.name == parameter; });
    return at != parameters.end() ? &*at : nullptr;
}

std::vector<ToolTypes> tool_types(const ordered_json& tools) {
    std::vector<ToolTypes> all;
    if (!tools.is_array()) return all;
    for (const ordered_json& tool : tools) {
        const auto* function = member(tool, "function");
        const auto* name = function != nullptr ? member(*function, "name") : nullptr;
        if (name == nullptr || !name->is_string()) continue;
        ToolTypes& types = all.emplace_back();
        types.name = name->get<std::string>();
        const auto* schema = member(*function, "parameters");
        const auto* properties = schema != nullptr ? member(*schema, "properties") : nullptr;
        if (properties == nullptr || !properties->is_object()) continue;
        const auto* others = member(*schema, "additionalProperties");
        types.is_open = others != nullptr && *others != false;
        SchemaTypes reader(*schema);
        for (const auto& [key, value] : properties->items()) types.parameters.push_back({key, reader.of(value)});
    }
    return all;
}

std::string argument_json(std::string_view text, ValueTypes types) {
    if (!types.only(ValueTypes::string)) {
        if (std::string json = typed_json(trimmed(text), types); !json.empty()) return json;
    }
    return '"' + json_escaped(text) + '"';
}

std::string json_escaped(std::string_view text) {
    const std::string quoted = dumped(ordered_json(std::string(text)));
    return quoted.substr(1, quoted.size() - 2);
}

}  // namespace colugo
