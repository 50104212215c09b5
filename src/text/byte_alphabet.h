// The characters byte-level BPE files write bytes as (GPT-2's alphabet): printable Latin-1 stands for itself, the other
// bytes for U+0100 onwards in order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace colugo {

// The bytes a token written in the alphabet stands for; nothing if it has a character outside of it.
std::optional<std::string> bytes_of_alphabet(std::string_view token);

}  // namespace colugo
