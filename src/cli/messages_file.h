// A conversation in a file, as OpenAI's chat completions take it: {"messages": [...], "tools": [...],
// "chat_template_kwargs": {...}}, the last two optional; or the list of messages alone.
#pragma once

#include <string>

#include "text/chat_template.h"

namespace colugo {

// Throws not_found, io, or invalid_file naming what is wrong: another key, another type, no message.
ChatInput read_messages_file(const std::string& path);
// The same for a text. source: what its faults are reported of.
ChatInput parse_conversation(const std::string& text, const std::string& source);

}  // namespace colugo
