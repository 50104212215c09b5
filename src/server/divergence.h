// Where a prompt parts from all that was read before, for people who wonder why it was read again.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "text/tokenizer.h"

namespace colugo {

// A sentence for the log: the place, what stands there, and what it looks like, if that is something that changes from
// request to request. Empty where the prompt does not part from anything. matched: its tokens that an earlier sequence
// begins with too.
std::string divergence_note(const Tokenizer& tokenizer, std::span<const int32_t> prompt, int64_t matched);

// "a date", "a clock", "a uuid" or "a hash" where the text has one near its beginning; empty for none.
std::string_view changing_thing(std::string_view text);

}  // namespace colugo
