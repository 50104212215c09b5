// Values as models write them: JSON, or Python's way to print the same.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

namespace colugo {

// The value `text` is, blanks around it aside; discarded (is_discarded()) where it is none. JSON is taken as such. Else
// it may have Python's True, False and None, strings in single quotes with their escapes, tuples, and commas before a
// closing bracket. Nesting beyond 128 is no value.
nlohmann::ordered_json parse_literal(std::string_view text);

// Follows the text of a list or an object as it comes, so that it is parsed only where it may be whole.
class LiteralProgress {
 public:
    // What comes next, of which the first byte is the opening bracket.
    void feed(std::string_view text);
    // All brackets and strings are closed, and nothing but blanks follows: whatever is fed else, it is no value now.
    bool may_be_whole() const { return state_ == State::closed; }

 private:
    enum class State : uint8_t { open, in_string, escaped, closed, broken };
    State state_ = State::open;
    int64_t nesting_ = 0;
    char quote_ = '"';  // of the string
};

}  // namespace colugo
