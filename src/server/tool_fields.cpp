#include "server/tool_fields.h"

#include <algorithm>
#include <set>

#include "server/api_error.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

bool is_tool_name(std::string_view name) {
    const auto allowed = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
               c == '-';
    };
    return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), allowed);
}

ordered_json without_nulls(const ordered_json& object) {
    ordered_json kept = ordered_json::object();
    for (const auto& [key, value] : object.items()) {
        if (!value.is_null()) kept.get_ref<ordered_json::object_t&>().emplace_back(key, value);
    }
    return kept;
}

ordered_json read_tool(const ordered_json& tool, const std::string& path, std::set<std::string>& names) {
    RequestFields fields(tool, path + ".");
    if (fields.required_string("type") != "function") fields.refuse_value("type", "\"function\"");
    std::optional<RequestFields> function = fields.object("function");
    if (!function) fields.refuse_type("function", "an object with a name");
    const std::string name = function->required_string("name");
    if (!is_tool_name(name)) function->refuse_value("name", "1 to 128 of the characters A-Z a-z 0-9 _ . -");
    if (!names.insert(name).second) function->refuse_value("name", "every name once");
    function->string("description");
    function->object("parameters");
    function->boolean("strict");
    ordered_json kept = without_nulls(tool);
    kept["function"] = without_nulls(tool["function"]);
    return kept;
}

ToolChoice read_tool_choice(RequestFields& fields, const std::set<std::string>& names) {
    using Kind = ToolChoice::Kind;
    constexpr const char* kExpected = "auto, none, required, or {\"type\": \"function\", \"function\": {\"name\"}}";
    const ordered_json* value = fields.get("tool_choice");
    if (value == nullptr) return {};
    ToolChoice choice;
    if (value->is_string()) {
        if (*value == "required")
            choice.kind = Kind::required;
        else if (*value == "none")
            choice.kind = Kind::none;
        else if (*value != "auto")
            fields.refuse_value("tool_choice", kExpected);
    } else {
        if (!value->is_object()) fields.refuse_type("tool_choice", kExpected);
        std::optional<RequestFields> named = fields.object("tool_choice");
        if (named->required_string("type") != "function") named->refuse_value("type", "\"function\"");
        std::optional<RequestFields> function = named->object("function");
        if (!function) named->refuse_type("function", "an object with a name");
        choice = {Kind::named, function->required_string("name")};
        if (!names.contains(choice.name)) function->refuse_value("name", "the name of one of the tools");
    }
    if (choice.kind == Kind::required && names.empty())
        fields.refuse_value("tool_choice", "auto or none without tools");
    return choice;
}

}  // namespace

ToolFields read_tool_fields(RequestFields& fields) {
    ToolFields read;
    std::set<std::string> names;
    const ordered_json* tools = fields.list("tools");
    for (size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
        read.tools.push_back(read_tool((*tools)[i], fmt::format("tools[{}]", i), names));
    }
    read.choice = read_tool_choice(fields, names);
    read.parallel_calls = fields.boolean("parallel_tool_calls").value_or(true);
    return read;
}

}  // namespace colugo
