#include "server/chat_prompt.h"

#include <algorithm>

#include "server/api_error.h"

namespace colugo {

namespace {

using Start = ChatRequest::Start;

// At the end of the last message's text, the last of its kind in the prompt whatever messages say. No blank, which
// templates trim.
constexpr std::string_view kMark = "[the reply goes on here]";

bool goes_on(const ChatRequest& request) {
    return request.start == Start::in_last_text || request.start == Start::in_last_reasoning;
}

}  // namespace

ChatInput chat_input(const ChatRequest& request) {
    ChatInput input;
    for (const Message& message : request.messages) input.messages.push_back(message.to_json());
    if (goes_on(request)) {
        const char* field = request.start == Start::in_last_text ? "content" : "reasoning_content";
        input.messages.back()[field].get_ref<std::string&>() += kMark;
    }
    input.tools = request.tools.tools;
    input.extra = request.template_variables;
    input.add_generation_prompt = request.start == Start::new_turn;
    return input;
}

RenderedPrompt cut_at_start(RenderedPrompt prompt, const ChatRequest& request) {
    if (!goes_on(request)) return prompt;
    const size_t end = prompt.text.rfind(kMark);
    if (end == std::string::npos) {
        refuse(
            "unsupported_value", "continue_final_message",
            "the chat template leaves out the end of the last message; continue_final_message false begins a new turn");
    }
    prompt.text.resize(end);
    while (!prompt.content_spans.empty() && prompt.content_spans.back().begin >= end) prompt.content_spans.pop_back();
    if (!prompt.content_spans.empty()) {
        prompt.content_spans.back().end = std::min(prompt.content_spans.back().end, end);
    }
    return prompt;
}

RenderedPrompt render_prompt(const ModelText& text, const ChatRequest& request) {
    try {
        return cut_at_start(text.render(chat_input(request)), request);
    } catch (const Error& error) {
        throw ApiError(400, "invalid_value", "messages", error.what());
    }
}

}  // namespace colugo
