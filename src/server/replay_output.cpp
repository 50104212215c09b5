#include "server/replay_output.h"

#include <algorithm>

#include "server/api_error.h"
#include "server/chat_prompt.h"

namespace colugo {

std::vector<int32_t> replay_tokens(const ModelText& text, const ChatRequest& chat, const Message& message,
                                   std::span<const int32_t> prompt, std::span<const int32_t> stop_ids) {
    if (chat.start != ChatRequest::Start::new_turn) {
        refuse("unsupported_value", "replay_output",
               "replay_output is a new turn; expected messages that end before one");
    }
    ChatInput input = chat_input(chat);
    input.messages.push_back(message.to_json());
    input.add_generation_prompt = false;
    std::vector<int32_t> whole;
    try {
        whole = text.encode(text.render(input));
    } catch (const Error& error) {
        throw ApiError(400, "invalid_value", "replay_output", error.what());
    }
    if (whole.size() <= prompt.size() || !std::equal(prompt.begin(), prompt.end(), whole.begin())) {
        refuse("unsupported_value", "replay_output",
               "the chat template does not write replay_output behind its generation prompt; expected a reply without "
               "a thought");
    }
    const auto begin = whole.begin() + std::ssize(prompt);
    const auto end = std::find_first_of(begin, whole.end(), stop_ids.begin(), stop_ids.end());
    if (end == whole.end()) {
        refuse("unsupported_value", "replay_output", "the chat template has no end behind replay_output");
    }
    return {begin, end + 1};
}

}  // namespace colugo
