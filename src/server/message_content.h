// The text of a message, however it was sent.
#pragma once

#include <string>
#include <string_view>

#include "server/request_fields.h"

namespace colugo {

// The field "content" of a message or a prediction: text; a list of parts, whose texts are joined with nothing between
// them, as the family's templates do it; absent or null, which is no text. Parts: {"type": "text", "input_text" or
// "output_text", "text"}, {"type": "refusal", "refusal"}, or text by itself. Throws ApiError (400) naming the part's
// index where it is of another type. Where the first part, or the text itself, begins with lines "NAME: ..." of
// `dropped_headers`, these are left out.
std::string read_content(RequestFields& fields, const std::vector<std::string>& dropped_headers = {});

inline constexpr std::string_view kBlanks = " \t\r\n\v\f";

std::string_view without_leading_blanks(std::string_view text);
inline bool is_blank(std::string_view text) {
    return without_leading_blanks(text).empty();
}

}  // namespace colugo
