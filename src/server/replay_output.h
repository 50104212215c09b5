// A simulation, for measuring a model's speed with weights that say nothing: the request says what its reply is.
#pragma once

#include <vector>

#include "engine/model_text.h"
#include "server/chat_request.h"

namespace colugo {

// The tokens of the reply `message` behind the prompt of `chat`, the one that ends it the last. Throws ApiError (400)
// where the template writes the message otherwise than behind its generation prompt.
std::vector<int32_t> replay_tokens(const ModelText& text, const ChatRequest& chat, const Message& message,
                                   std::span<const int32_t> prompt, std::span<const int32_t> stop_ids);

}  // namespace colugo
