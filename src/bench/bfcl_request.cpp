#include "bench/bfcl_request.h"

#include <algorithm>
#include <string_view>

namespace colugo {
namespace {

using Json = nlohmann::ordered_json;

// JSON schema's name for a type of BFCL, which has Python's, Java's and JavaScript's; what is none of them is a string.
std::string_view schema_type(const Json& type) {
    struct Name {
        std::string_view bfcl;
        std::string_view schema;
    };
    constexpr Name kNames[] = {
        {"integer", "integer"},  {"byte", "integer"},    {"short", "integer"}, {"long", "integer"},
        {"Bigint", "integer"},   {"number", "number"},   {"float", "number"},  {"double", "number"},
        {"boolean", "boolean"},  {"bool", "boolean"},    {"array", "array"},   {"list", "array"},
        {"tuple", "array"},      {"ArrayList", "array"}, {"Array", "array"},   {"Queue", "array"},
        {"Stack", "array"},      {"dict", "object"},     {"object", "object"}, {"HashMap", "object"},
        {"Hashtable", "object"},
    };
    if (!type.is_string()) return "string";
    const auto& name = type.get_ref<const std::string&>();
    const auto* found = std::ranges::find(kNames, name, &Name::bfcl);
    return found == std::end(kNames) ? "string" : found->schema;
}

void convert_properties(Json& properties);

void convert_type(Json& schema) {
    schema["type"] = schema_type(schema.contains("type") ? schema["type"] : Json());
}

// What is in the elements: one list or one object deep, as deep as BFCL goes.
void convert_items(Json& items) {
    if (!items.is_object()) return;
    convert_type(items);
    if (items["type"] == "array" && items.contains("items") && items["items"].is_object()) {
        convert_type(items["items"]);
    } else if (items["type"] == "object" && items.contains("properties")) {
        convert_properties(items["properties"]);
    }
}

void convert_property(Json& property) {
    if (property.contains("type") && property["type"] == "float") {
        property["format"] = "float";
        property["description"] = property.value("description", "") + " This is a float type value.";
    }
    convert_type(property);
    if (property["type"] != "array" && property["type"] != "object") return;
    if (property.contains("properties")) {
        convert_properties(property["properties"]);
    } else if (property.contains("items")) {
        convert_items(property["items"]);
    }
}

void convert_properties(Json& properties) {
    for (Json& property : properties)
        if (property.is_object()) convert_property(property);
}

}  // namespace

std::string bfcl_tool_name(std::string name) {
    std::ranges::replace(name, '.', '_');
    return name;
}

Json bfcl_tools(const Json& functions) {
    Json tools = Json::array();
    for (Json function : functions) {
        function["name"] = bfcl_tool_name(function["name"]);
        function["parameters"]["type"] = "object";
        convert_properties(function["parameters"]["properties"]);
        tools.push_back({{"type", "function"}, {"function", std::move(function)}});
    }
    return tools;
}

Json bfcl_request(const BfclSample& sample) {
    Json request = {{"messages", sample.messages}};
    if (!sample.functions.empty()) {
        request["tools"] = bfcl_tools(sample.functions);
        request["tool_choice"] = "auto";
    }
    return request;
}

}  // namespace colugo
