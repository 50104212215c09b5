// A range of bytes in a text. The chat template and the tokenizer share it: inside a content span the letters of a
// control token are just letters, outside they are the token itself.
#pragma once

#include <cstddef>

namespace colugo {

struct TextSpan {
    size_t begin = 0;  // first byte
    size_t end = 0;    // one past the last byte
    bool operator==(const TextSpan&) const = default;
};

}  // namespace colugo
