// One message of a request, in the one form that all the forms clients send are read to.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/request_fields.h"

namespace colugo {

struct Message {
    enum class Role { system, user, assistant, tool };
    Role role = Role::user;
    std::string content = {};
    // Of an assistant.
    std::string reasoning = {};
    bool open_thought = false;  // the message ends inside its reasoning
    nlohmann::ordered_json calls =
        nlohmann::ordered_json::array();  // {"id", "type", "function": {"name", "arguments"}}
    // Of a tool.
    std::string call_id = {};
    std::string name = {};  // of whoever speaks
    // In the request's list: of several that became one, the first one's; nothing: it was put there.
    std::optional<size_t> index = {};

    // Whether a template takes it for what the user wants: some take results of tools from the user too.
    bool is_query() const;
    // As templates read it: arguments are objects; a reasoning is there for every assistant, be it empty.
    nlohmann::ordered_json to_json() const;
};

// path: "messages[3]". unknown: takes the names of fields that mean nothing, as "messages[].name". dropped_headers: see
// read_content, of a system message. Throws ApiError (400): for a role that does not exist, and fields of wrong types.
//
// developer is system, and function is tool. An assistant's reasoning is reasoning_content, else reasoning, else what
// stands between <think> and the first </think> at the very beginning of its content; without </think>, all of it, and
// the thought is open. A refusal is text. A call's arguments are an object or its JSON text; a text that is none is
// kept as {"raw": text}.
Message read_message(const nlohmann::ordered_json& message, const std::string& path,
                     const std::vector<std::string>& dropped_headers, std::set<std::string>& unknown);

}  // namespace colugo
