// Where conversations part: the positions of a rendered prompt at which another one is likely to go on differently.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model_text.h"

namespace colugo {

// Found with the template itself: where the prompt parts from its own variants with other words in the user's first
// message (behind system message and tools) and in the last one, and behind what a reply in the past begins with too,
// before what the template writes for a reply that is yet to come. Ascending, each above 0 and below tokens.size();
// fewer where the template has no such form. tokens: of `input`, rendered. memo: see Tokenizer::encode.
std::vector<int64_t> branch_points(const ModelText& text, const ChatInput& input, std::span<const int32_t> tokens,
                                   const ScopedMemo* memo = nullptr);

}  // namespace colugo
