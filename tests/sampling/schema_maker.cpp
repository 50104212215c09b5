#include "sampling/schema_maker.h"

#include <algorithm>

#include <string>

namespace colugo::testing {

using Json = nlohmann::ordered_json;

Json SchemaMaker::value() {
    const char* values[] = {"null",
                            "true",
                            "-3",
                            "2.5",
                            "\"a\\\"b\"",
                            "\"\"",
                            "[1, [], {\"x\": null}]",
                            "{\"k\": \"\xC3\xA9\", \"l\": {}}",
                            "\"ab\"",
                            "\"abc\""};
    return Json::parse(values[pick(std::size(values))]);
}

Json SchemaMaker::string() {
    Json schema = {{"type", "string"}};
    const char* patterns[] = {"^[a-z]{2,5}$",  "^a+b*$|^\"x\\\\$", "[0-9]",     "^(ab|c)+\\s?$",
                              "^\\w+-\\d{2}$", "[a-z].*[0-9]",     "^[^abc]+$", ""};
    const char* formats[] = {"date", "time", "date-time", "uuid", "email", "ipv4", "uri"};
    switch (pick(5)) {
        case 0:
            schema["pattern"] = patterns[pick(std::size(patterns))];
            if (toss()) schema["maxLength"] = 6 + pick(6);
            break;
        case 1:
            schema["format"] = formats[pick(std::size(formats))];
            break;
        case 2:
            schema["minLength"] = pick(4);
            if (toss()) schema["maxLength"] = 3 + pick(30);
            break;
        case 3:
            schema["enum"] = {"ab", "abc", "b\n", "\xE2\x82\xAC", ""};
            break;
        default:
            break;
    }
    return schema;
}

Json SchemaMaker::integer() {
    Json schema = {{"type", "integer"}};
    const int64_t low = static_cast<int64_t>(pick(3000)) - 1500,
                  high = low + static_cast<int64_t>(pick(4) == 0 ? pick(5) : pick(100000));
    if (toss()) schema[toss() ? "minimum" : "exclusiveMinimum"] = low;
    if (toss()) schema[toss() ? "maximum" : "exclusiveMaximum"] = high + 2;
    if (pick(4) == 0 && schema.size() < 3) schema["multipleOf"] = 1 + pick(12);
    return schema;
}

Json SchemaMaker::array(int depth) {
    Json schema = {{"type", "array"}};
    const uint64_t prefix = pick(3) == 0 ? 1 + pick(3) : 0;
    for (uint64_t i = 0; i < prefix; ++i) schema["prefixItems"].push_back(any(depth - 1));
    if (toss()) schema["items"] = any(depth - 1);
    if (prefix > 0 && pick(3) == 0) schema["items"] = false;
    const bool closed = schema.contains("items") && schema["items"] == false;
    if (toss()) schema["minItems"] = pick(closed ? prefix + 1 : 4);
    if (toss()) schema["maxItems"] = schema.value("minItems", uint64_t{0}) + pick(4);
    return schema;
}

Json SchemaMaker::object(int depth, const char* prefix) {
    Json schema = {{"type", "object"}};
    const char* names[] = {"a", "ab", "b c", "\"q\"", "\xC3\xA9t\xC3\xA9", "z/~"};
    const uint64_t count = pick(5);
    for (uint64_t i = 0; i < count; ++i) {
        const std::string name = prefix + std::string(names[pick(std::size(names))]);
        if (schema.contains("properties") && schema["properties"].contains(name)) continue;
        schema["properties"][name] = any(depth - 1);
        if (toss()) schema["required"].push_back(name);
    }
    switch (pick(4)) {
        case 0:
            schema["additionalProperties"] = false;
            break;
        case 1:
            schema["additionalProperties"] = any(depth - 1);
            if (toss()) schema["required"].push_back("more");
            break;
        default:
            break;
    }
    return schema;
}

Json SchemaMaker::joined(int depth) {
    Json schema;
    const char* prefixes[] = {"x", "y", "w"};
    for (const char* prefix : prefixes) {
        Json part = object(depth, prefix);
        part.erase("additionalProperties");
        if (part.contains("required"))
            part["required"].erase(std::remove(part["required"].begin(), part["required"].end(), "more"),
                                   part["required"].end());
        schema["allOf"].push_back(part);
    }
    if (toss()) schema["properties"]["own"] = any(depth - 1);
    return schema;
}

Json SchemaMaker::any(int depth) {
    switch (pick(depth > 0 ? 16 : 7)) {
        case 0:
        case 1:
            return string();
        case 2:
            return integer();
        case 3:
            return {{"type", pick(3) == 0 ? "null" : toss() ? "boolean" : "number"}, {"title", "a \"leaf\""}};
        case 4:
            return toss() ? Json{{"const", value()}} : Json{{"enum", {value(), value(), value()}}};
        case 5:
            return {{"type", {"integer", "string", "null"}}, {"maxLength", 5}, {"minimum", -7}};
        case 6:
            return toss() ? Json(true) : Json::object();
        case 7:
        case 8:
            return array(depth);
        case 9:
        case 10:
        case 11:
            return object(depth, "");
        case 12:
            return {{toss() ? "anyOf" : "oneOf", {any(depth - 1), any(depth - 1), any(depth - 1)}}};
        case 13:
            return joined(depth - 1);
        case 14:
            return {{"allOf", Json::array({any(depth - 1)})}};
        default:
            return {{"$ref", toss() ? "#/$defs/chain" : "#/$defs/tree~1of~0all"}};
    }
}

Json SchemaMaker::definitions() {
    return Json::parse(R"({
        "chain": {"type": "object", "properties": {"v": {"type": "integer", "minimum": 0},
                                                   "next": {"anyOf": [{"$ref": "#/$defs/chain"}, {"type": "null"}]}},
                  "required": ["v", "next"], "additionalProperties": false},
        "tree/of~all": {"type": "array", "items": {"$ref": "#/$defs/tree~1of~0all"}, "maxItems": 3}})");
}

Json SchemaMaker::schema() {
    Json schema = any(4);
    if (!schema.is_object()) schema = Json::object();
    schema["$defs"] = definitions();
    return schema;
}

// Names that can be written in a call.
Json SchemaMaker::parameters() {
    Json schema = object(3, "");
    const Json named = schema.value("properties", Json::object());
    Json properties = Json::object();
    Json required = Json::array();
    for (const auto& [name, part] : named.items()) {
        const std::string plain = std::to_string(properties.size()).insert(0, 1, 'p');
        properties[plain] = part;
        const Json names = schema.value("required", Json::array());
        if (std::find(names.begin(), names.end(), name) != names.end()) required.push_back(plain);
    }
    schema["properties"] = properties;
    schema["required"] = required;
    schema["$defs"] = definitions();
    return schema;
}

}  // namespace colugo::testing
