#include "server/response_format.h"

namespace colugo {

namespace {

nlohmann::ordered_json read_schema(RequestFields& fields) {
    const nlohmann::ordered_json* schema = fields.get("schema");
    if (schema == nullptr || !schema->is_object()) fields.refuse_type("schema", "a JSON schema, an object");
    return *schema;
}

}  // namespace

ResponseFormat read_response_format(RequestFields& fields) {
    using Kind = ResponseFormat::Kind;
    std::optional<RequestFields> format = fields.object("response_format");
    if (!format) return {};
    const std::string type = format->required_string("type");
    if (type == "text") return {};
    if (type == "json_object") {
        if (!format->has("schema")) return {Kind::json_object};
        return {Kind::json_schema, "", read_schema(*format), false};
    }
    if (type != "json_schema") format->refuse_value("type", "text, json_object or json_schema");
    std::optional<RequestFields> described = format->object("json_schema");
    if (!described) format->refuse_type("json_schema", "an object with name and schema");
    return {Kind::json_schema, described->string("name").value_or(""), read_schema(*described),
            described->boolean("strict").value_or(false)};
}

}  // namespace colugo
