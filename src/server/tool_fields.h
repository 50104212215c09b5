// The tools of a request, and which of them the reply may or must call.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/request_fields.h"

namespace colugo {

struct ToolChoice {
    enum class Kind { automatic, none, required, named };
    Kind kind = Kind::automatic;
    std::string name = {};  // of the named one
};

struct ToolFields {
    // As they were sent, keys in their order, without those that are null: the prompt shows them so. null for none.
    nlohmann::ordered_json tools = {};
    ToolChoice choice = {};
    bool parallel_calls = true;  // may one reply have several?
};

// Throws ApiError (400): for a tool that is no function, a name that is none or there twice, fields of wrong types, and
// a choice of a tool that is not there.
ToolFields read_tool_fields(RequestFields& fields);

}  // namespace colugo
