// Patterns that name modules in quantization configurations: shell globs (`*`, `?`, `[a-z]`), the name of a module or
// of one above it, or, after "re:", a regular expression that has to match from the name's beginning.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

bool glob_matches(std::string_view pattern, std::string_view name);

class NamePattern {
 public:
    // Throws invalid_file, naming `source`, when an expression after "re:" cannot be read.
    NamePattern(std::string text, const std::string& source);

    const std::string& text() const { return text_; }
    // True when one of a module's names matches.
    bool matches(const std::vector<std::string>& names) const;

 private:
    std::string text_;
    std::function<bool(const std::string& name)> matches_;
};

}  // namespace colugo
