// Conversations as tokens, for calibration and evaluation: from a JSONL file, or the ones built in.
//
// A line of the file is a conversation {"messages": [...], "tools": [...]}, or one turn of a recorded one
// {"conversation_id", "role", ...}: user turns with "content", "system" and "tools", assistant turns with
// "reasoning_content" and "tool_calls", tool turns with "tool_results". Other keys are not looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model_text.h"

namespace colugo {

struct Conversations {
    std::string name;                             // the file, or what stands for the built-in set
    int64_t records = 0;                          // conversations there are
    std::vector<std::vector<int32_t>> sequences;  // the chosen ones' tokens
    int64_t cut = 0;                              // how many of these were longer
};

// path: empty for the built-in ones. `samples` conversations, evenly over the file, rendered by the checkpoint's
// template and cut to `longest` tokens. Throws not_found, or invalid_file naming the line that cannot be read or
// rendered.
Conversations read_conversations(const std::string& path, const ModelText& text, const ModelConfig& config, int samples,
                                 int longest);

}  // namespace colugo
