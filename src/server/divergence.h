// Where a prompt parts from all that was read before, for people who wonder why it was read again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "text/tokenizer.h"

namespace colugo {

struct Divergence {
    int64_t token = 0;
    size_t byte = 0;         // of the tokens' text
    std::string text = {};   // what stands there, its first 48 bytes in valid UTF-8
    std::string_view thing;  // as of changing_thing, of the text and what is just before it
};

// matched: the prompt's tokens that an earlier sequence begins with too. Nothing where the prompt does not part from
// anything.
std::optional<Divergence> find_divergence(const Tokenizer& tokenizer, std::span<const int32_t> prompt, int64_t matched);

// A sentence of it for the log; empty for none, and where the prompt shares fewer than 32 tokens with anything, which
// is no conversation that was read before.
std::string divergence_note(const Tokenizer& tokenizer, std::span<const int32_t> prompt, int64_t matched);

// "a date", "a clock", "a uuid" or "a hash" where the text has one near its beginning; empty for none.
std::string_view changing_thing(std::string_view text);

}  // namespace colugo
