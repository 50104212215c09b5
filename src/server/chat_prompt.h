// From a chat request to the text the model reads.
#pragma once

#include "engine/model_text.h"
#include "server/chat_request.h"

namespace colugo {

// What the template is given; tool_choice changes nothing of it, so that the prompt stays the same. Where the reply
// goes on inside the last message, a mark stands there.
ChatInput chat_input(const ChatRequest& request);

// A prompt that was rendered from chat_input(request), cut where the mark stands. Throws ApiError (400) where the
// template shows no such place.
RenderedPrompt cut_at_start(RenderedPrompt prompt, const ChatRequest& request);

// Both, with the checkpoint's template. Throws ApiError: 400 for what the template refuses, and has no end of.
RenderedPrompt render_prompt(const ModelText& text, const ChatRequest& request);

}  // namespace colugo
