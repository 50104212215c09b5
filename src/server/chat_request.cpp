#include "server/chat_request.h"

#include "sampling/logprobs.h"
#include "server/api_error.h"
#include "server/conversation.h"
#include "server/thinking_fields.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

using Start = ChatRequest::Start;

int read_top_logprobs(RequestFields& fields) {
    const bool wanted = fields.boolean("logprobs").value_or(false);
    const int64_t top = fields.integer("top_logprobs", 0, kMostTopLogprobs).value_or(0);
    if (top > 0 && !wanted) fields.refuse_value("top_logprobs", "none or 0 where logprobs is not true");
    return wanted ? static_cast<int>(top) : -1;
}

// A text of the assistant at the end is gone on with unless a new turn is asked for; calls are history.
Start read_start(RequestFields& fields, const Message& last) {
    const std::optional<bool> go_on = fields.boolean("continue_final_message");
    const std::optional<bool> header = fields.boolean("add_generation_prompt");
    const bool has_text = last.role == Message::Role::assistant && last.calls.empty();
    if (go_on.value_or(false) && !has_text) {
        fields.refuse_value("continue_final_message", "false where the last message is no text of the assistant");
    }
    if (go_on.value_or(false) && header.value_or(false)) {
        fields.refuse_value("add_generation_prompt", "false beside continue_final_message");
    }
    if (has_text && go_on.value_or(!header.value_or(false))) {
        return last.open_thought ? Start::in_last_reasoning : Start::in_last_text;
    }
    return header.value_or(true) ? Start::new_turn : Start::without_header;
}

std::optional<Message> read_replay_output(RequestFields& fields, const RequestDefaults& defaults,
                                          std::set<std::string>& unknown) {
    const ordered_json* const value = fields.get("replay_output");
    if (value == nullptr) return std::nullopt;
    if (defaults.replay_acceptance.empty()) {
        refuse("unsupported_parameter", "replay_output",
               "replay_output is for a server that simulates; expected colugo serve --replay-acceptance");
    }
    Message message = read_message(*value, "replay_output", defaults.dropped_headers, unknown);
    if (message.role != Message::Role::assistant) fields.refuse_value("replay_output", "an assistant's message");
    return message;
}

}  // namespace

ChatRequest read_chat_request(const ordered_json& body, const RequestDefaults& defaults) {
    RequestFields fields(body, "");
    if (fields.has("prompt")) fields.refuse_value("prompt", "messages; /v1/completions takes a prompt");
    ChatRequest request;
    request.generation = read_generation_fields(fields, defaults);
    request.generation.top_logprobs = read_top_logprobs(fields);
    request.tools = read_tool_fields(fields);
    request.template_variables = read_template_variables(fields, defaults.thinking);
    std::set<std::string> unknown;
    request.messages = read_conversation(fields, defaults.dropped_headers, unknown);
    request.start = read_start(fields, request.messages.back());
    request.replay_output = read_replay_output(fields, defaults, unknown);
    check_neutral_fields(fields);
    request.unknown_fields = unknown_fields(fields, std::move(unknown));
    return request;
}

}  // namespace colugo
