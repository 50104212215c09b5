// Cuts text into the pieces byte-pair encoding never merges across.
#pragma once

#include <cstddef>
#include <string_view>

namespace colugo {

// The pattern the model family publishes in tokenizer.json; its matches are the pieces.
inline constexpr std::string_view kFamilyPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Where the match of kFamilyPattern that begins at `begin` ends; begin < text.size(). `text` is UTF-8. Every character
// is in some match, so matches follow each other without gaps; walking a text to its end is linear in its size.
size_t family_piece_end(std::string_view text, size_t begin);

}  // namespace colugo
