// Values as models write them: JSON, or Python's way to print the same.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace colugo {

// The value `text` is, blanks around it aside; discarded (is_discarded()) where it is none. JSON is taken as such. Else
// it may have Python's True, False and None, strings in single quotes with their escapes, tuples, and commas before a
// closing bracket. Nesting beyond 128 is no value.
nlohmann::ordered_json parse_literal(std::string_view text);

}  // namespace colugo
