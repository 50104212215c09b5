// Transformations of text that both methods and filters offer. All keep the content spans exact.
#pragma once

#include "base/function_ref.h"
#include "text/jinja_runtime.h"

namespace colugo::jinja {

// At most `limit` replacements, all when negative. The markup flag of `text` is kept.
Text replace_text(Runtime& runtime, const Text& text, std::string_view old, const Text& replacement, int64_t limit);

// Fills up to `width` characters; on both sides as Python's center does.
Text pad_text(Runtime& runtime, const Text& text, int64_t width, const Text& fill, bool left, bool right);

// map(out, character, first) appends what the character becomes.
Text map_characters(const Text& text, FunctionRef<void(std::string& out, char32_t c, bool first)> map);

Text lower_text(const Text& text);  // with the final sigma
Text upper_text(const Text& text);

// str.isupper / str.islower: at least one cased character and none of the other case.
bool has_only_case(std::string_view text, bool upper);

}  // namespace colugo::jinja
