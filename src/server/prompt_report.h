// What a chat request's prompt comes to, and what the cache has of it, for people who wonder why it is read again.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cache/cache_manager.h"
#include "engine/model_text.h"
#include "server/chat_request.h"

namespace colugo {

class PromptReport {
 public:
    // Throws ApiError: what render_prompt throws. text: outlives it.
    PromptReport(const ModelText& text, ChatRequest request);

    // What the request's prompt is found by.
    OwnedPrefix prefix() const { return {tokens_, request_.generation.cache_scope}; }
    // The answer to POST /apply-template (docs/api.md).
    nlohmann::ordered_json body(const CacheManager::Lookup& found) const;

    // The place, in the request's list, of the last message whose text begins at this token of the prompt or before
    // it; nothing where none does.
    std::optional<size_t> message_at(int64_t token) const;

 private:
    int64_t begin_of(size_t message) const;
    nlohmann::ordered_json divergence(int64_t matched) const;

    const ModelText& text_;
    ChatRequest request_;
    RenderedPrompt prompt_;
    std::vector<int32_t> tokens_;
};

}  // namespace colugo
