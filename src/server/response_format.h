// The form a reply is to have (response_format), as it was asked for.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/request_fields.h"

namespace colugo {

struct ResponseFormat {
    enum class Kind { text, json_object, json_schema };
    Kind kind = Kind::text;
    // Of a json_schema.
    std::string name = {};
    nlohmann::ordered_json schema = {};  // an object
    bool strict = false;
};

// From {"type": "text"}, {"type": "json_object"} or {"type": "json_schema", "json_schema": {"schema", "name",
// "strict"}}, and llama.cpp's {"type": "json_object", "schema"}, which is the latter. Throws ApiError (400).
ResponseFormat read_response_format(RequestFields& fields);

}  // namespace colugo
