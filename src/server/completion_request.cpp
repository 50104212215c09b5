#include "server/completion_request.h"

#include "sampling/logprobs.h"
#include "server/api_error.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

// What else belongs to a conversation, and would be missed.
constexpr const char* kChatFields[] = {
    "messages", "tools", "tool_choice", "chat_template_kwargs", "continue_final_message", "top_logprobs"};

std::vector<int32_t> read_ids(RequestFields& fields, const ordered_json& list, int64_t vocab_size) {
    std::vector<int32_t> ids;
    ids.reserve(list.size());
    for (const ordered_json& entry : list) {
        const std::optional<int64_t> id = whole_number(entry, 0, vocab_size - 1);
        if (!id) {
            refuse("invalid_value", fields.path("prompt"), "prompt[{}] is {}; expected a token id from 0 to {}",
                   ids.size(), excerpt(entry), vocab_size - 1);
        }
        ids.push_back(static_cast<int32_t>(*id));
    }
    return ids;
}

void read_prompt(CompletionRequest& request, RequestFields& fields, int64_t vocab_size) {
    const ordered_json* prompt = fields.get("prompt");
    constexpr const char* kExpected = "one text, or one list of token ids, not empty";
    if (prompt == nullptr) fields.refuse_value("prompt", kExpected);
    // A list of one prompt.
    const bool is_list = prompt->is_array() && prompt->size() == 1 && !prompt->front().is_number();
    const ordered_json& one = is_list ? prompt->front() : *prompt;
    if (one.is_string()) {
        request.prompt = one.get<std::string>();
    } else if (one.is_array() && (one.empty() || one.front().is_number())) {
        request.prompt_ids = read_ids(fields, one, vocab_size);
    } else {
        fields.refuse_type("prompt", kExpected);
    }
    if (request.prompt.empty() && request.prompt_ids.empty()) fields.refuse_value("prompt", kExpected);
}

// A number of alternatives; false, which chat has for none, is none here too.
int read_top_logprobs(RequestFields& fields) {
    const ordered_json* value = fields.get("logprobs");
    if (value == nullptr || *value == false) return -1;
    return static_cast<int>(*fields.integer("logprobs", 0, kMostTopLogprobs));
}

}  // namespace

CompletionRequest read_completion_request(const ordered_json& body, const RequestDefaults& defaults) {
    RequestFields fields(body, "");
    for (const char* name : kChatFields) {
        if (fields.has(name)) fields.refuse_value(name, "none; /v1/chat/completions takes conversations");
    }
    CompletionRequest request;
    request.generation = read_generation_fields(fields, defaults);
    request.generation.top_logprobs = read_top_logprobs(fields);
    read_prompt(request, fields, defaults.vocab_size);
    check_neutral_fields(fields);
    request.unknown_fields = unknown_fields(fields, {});
    return request;
}

}  // namespace colugo
