#include "server/prompt_report.h"

#include <algorithm>

#include "engine/branch_points.h"
#include "server/api_error.h"
#include "server/chat_prompt.h"
#include "server/divergence.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

// No message begins so, and no template trims it.
constexpr std::string_view kMark = "[\x01]";

// Puts other words where the message's text begins; a user's message that is a result stays one.
void mark_begin(Message& message) {
    const bool is_result = message.role == Message::Role::user && !message.is_query();
    const size_t text = is_result ? message.content.find('>') + 1 : 0;
    message.content.insert(text, kMark);
    if (!message.reasoning.empty()) message.reasoning.insert(0, kMark);
}

}  // namespace

PromptReport::PromptReport(const ModelText& text, ChatRequest request)
    : text_(text),
      request_(std::move(request)),
      prompt_(render_prompt(text, request_)),
      tokens_(text.encode(prompt_)) {}

// The token where the prompt parts from one with other words there.
int64_t PromptReport::begin_of(size_t message) const {
    ChatRequest other = request_;
    mark_begin(other.messages[message]);
    const std::vector<int32_t> tokens = text_.encode(render_prompt(text_, other));
    return std::ranges::mismatch(tokens_, tokens).in1 - tokens_.begin();
}

// Messages stand in their order, so it is between two of them.
std::optional<size_t> PromptReport::message_at(int64_t token) const {
    size_t begun = 0;  // messages that begin there or before
    for (size_t end = request_.messages.size(); begun < end;) {
        const size_t middle = begun + (end - begun) / 2;
        if (begin_of(middle) <= token) {
            begun = middle + 1;
        } else {
            end = middle;
        }
    }
    while (begun > 0 && !request_.messages[begun - 1].index) --begun;
    return begun > 0 ? request_.messages[begun - 1].index : std::nullopt;
}

ordered_json PromptReport::divergence(int64_t matched) const {
    const std::optional<Divergence> found = find_divergence(text_.tokenizer(), tokens_, matched);
    if (!found) return nullptr;
    ordered_json message, looks_like;
    try {
        if (const auto index = message_at(matched)) message = *index;
    } catch (const ApiError&) {
        // A template may have no form for other words; the prompt itself was rendered.
    }
    if (!found->thing.empty()) looks_like = found->thing;
    return {{"token", matched},
            {"byte", found->byte},
            {"message", message},
            {"text", found->text},
            {"looks_like", looks_like}};
}

ordered_json PromptReport::body(const CacheManager::Lookup& found) const {
    return {{"prompt", prompt_.text},
            {"tokens", tokens_},
            {"count", tokens_.size()},
            {"branch_points", branch_points(text_, chat_input(request_), tokens_)},
            {"cached_tokens", found.cached_len},
            {"matched_tokens", found.matched_len},
            {"divergence", divergence(found.matched_len)}};
}

}  // namespace colugo
