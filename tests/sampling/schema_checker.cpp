#include "sampling/schema_checker.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>

namespace colugo::testing {
namespace {

using Json = nlohmann::ordered_json;

bool has_type(const Json& value, const std::string& type) {
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_boolean();
    if (type == "string") return value.is_string();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    if (type == "number") return value.is_number();
    return value.is_number_integer() ||
           (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>());
}

size_t characters(const std::string& text) {
    size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
}

bool has_format(const std::string& text, const std::string& format) {
    const auto matches = [&](const char* pattern) { return std::regex_match(text, std::regex(pattern)); };
    const char* date = "\\d\\d\\d\\d-\\d\\d-\\d\\d";
    if (format == "uuid") return matches("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");
    if (format == "email") return matches("[^@\\s]+@[^@\\s]+\\.[^@\\s]+");
    if (format == "uri") return matches("[a-z][a-z0-9+.-]*://[^\\s\"<>\\\\^`{|}]+");
    if (format == "ipv4") return matches("\\d{1,3}(\\.\\d{1,3}){3}");
    if (format == "date") {
        if (!matches(date)) return false;
        const int year = std::stoi(text.substr(0, 4)), month = std::stoi(text.substr(5, 2)),
                  day = std::stoi(text.substr(8, 2));
        const int days[] = {
            31, (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30,
            31};
        return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
    }
    if (format == "time") return matches("\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)");
    return has_format(text.substr(0, text.find('T')), "date") && has_format(text.substr(text.find('T') + 1), "time");
}

bool satisfies_object(const Json& value, const Json& schema, const Json& root) {
    for (const Json& name : schema.value("required", Json::array()))
        if (!value.contains(name.get<std::string>())) return false;
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, part] : value.items()) {
        if (properties.contains(name) && !satisfies(part, properties[name], root)) return false;
        if (!properties.contains(name) && schema.contains("additionalProperties") &&
            !satisfies(part, schema["additionalProperties"], root))
            return false;
    }
    return true;
}

bool satisfies_array(const Json& value, const Json& schema, const Json& root) {
    if (value.size() < schema.value("minItems", size_t{0})) return false;
    if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<size_t>()) return false;
    const Json prefix = schema.value("prefixItems", Json::array());
    for (size_t i = 0; i < value.size(); ++i) {
        if (i < prefix.size() ? !satisfies(value[i], prefix[i], root)
                              : schema.contains("items") && !satisfies(value[i], schema["items"], root))
            return false;
    }
    return true;
}

bool satisfies_string(const std::string& text, const Json& schema) {
    if (characters(text) < schema.value("minLength", size_t{0})) return false;
    if (schema.contains("maxLength") && characters(text) > schema["maxLength"].get<size_t>()) return false;
    if (schema.contains("pattern") && !std::regex_search(text, std::regex(schema["pattern"].get<std::string>())))
        return false;
    return !schema.contains("format") || has_format(text, schema["format"]);
}

bool satisfies_number(const Json& value, const Json& schema) {
    if (schema.contains("minimum") && value < schema["minimum"]) return false;
    if (schema.contains("maximum") && value > schema["maximum"]) return false;
    if (schema.contains("exclusiveMinimum") && value <= schema["exclusiveMinimum"]) return false;
    if (schema.contains("exclusiveMaximum") && value >= schema["exclusiveMaximum"]) return false;
    return !schema.contains("multipleOf") || value.get<int64_t>() % schema["multipleOf"].get<int64_t>() == 0;
}

bool any_satisfied(const Json& value, const Json& schemas, const Json& root) {
    for (const Json& schema : schemas)
        if (satisfies(value, schema, root)) return true;
    return false;
}

}  // namespace

bool satisfies(const Json& value, const Json& schema, const Json& root) {
    if (schema.is_boolean()) return schema.get<bool>();
    if (schema.contains("$ref"))
        return satisfies(value, root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), root);
    if (schema.contains("type")) {
        bool found = false;
        if (schema["type"].is_string()) found = has_type(value, schema["type"]);
        if (schema["type"].is_array())
            for (const Json& type : schema["type"]) found |= has_type(value, type);
        if (!found) return false;
    }
    if (schema.contains("const") && value != schema["const"]) return false;
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
        return false;
    if (schema.contains("anyOf") && !any_satisfied(value, schema["anyOf"], root)) return false;
    if (schema.contains("oneOf") && !any_satisfied(value, schema["oneOf"], root)) return false;
    for (const Json& part : schema.value("allOf", Json::array()))
        if (!satisfies(value, part, root)) return false;
    if (value.is_object()) return satisfies_object(value, schema, root);
    if (value.is_array()) return satisfies_array(value, schema, root);
    if (value.is_string()) return satisfies_string(value.get<std::string>(), schema);
    return !value.is_number() || satisfies_number(value, schema);
}

}  // namespace colugo::testing
