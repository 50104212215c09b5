// POST /v1/chat/completions: a request's body, read, checked and normalised. docs/api.md says what each field does.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/generation_fields.h"
#include "server/message.h"
#include "server/tool_fields.h"

namespace colugo {

struct ChatRequest {
    // Where the reply begins.
    enum class Start {
        new_turn,           // behind the template's generation prompt
        without_header,     // behind the last message, as it is (add_generation_prompt false)
        in_last_text,       // where the assistant's text ends, which is the last message
        in_last_reasoning,  // where its thought ends, which is still open
    };

    GenerationFields generation = {};
    std::vector<Message> messages = {};
    Start start = Start::new_turn;
    ToolFields tools = {};
    nlohmann::ordered_json template_variables = {};  // an object
    std::optional<Message> replay_output = {};       // a simulation: what the reply is
    // Fields that mean nothing here, sorted; at most 16.
    std::vector<std::string> unknown_fields = {};
};

// Throws ApiError (400) and nothing else.
ChatRequest read_chat_request(const nlohmann::ordered_json& body, const RequestDefaults& defaults);

}  // namespace colugo
