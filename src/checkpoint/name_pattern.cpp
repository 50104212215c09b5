#include "checkpoint/name_pattern.h"

#include <algorithm>
#include <regex>

#include "base/error.h"

namespace colugo {

namespace {

constexpr size_t kMaxExpression = 512;  // characters; the compiler of expressions recurses over nested groups

// Matches one character against the class that begins at pattern[at] == '['; moves `at` past it. An unclosed class is
// a plain '['.
bool class_matches(std::string_view pattern, size_t& at, char c) {
    size_t i = at + 1;
    const bool negated = i < pattern.size() && pattern[i] == '!';
    if (negated) ++i;
    const size_t close = pattern.find(']', i + 1);
    if (close == pattern.npos) {
        ++at;
        return c == '[';
    }
    bool found = false;
    for (; i < close; ++i) {
        if (i + 2 < close && pattern[i + 1] == '-') {
            found |= pattern[i] <= c && c <= pattern[i + 2];
            i += 2;
        } else {
            found |= pattern[i] == c;
        }
    }
    at = close + 1;
    return found != negated;
}

}  // namespace

// On a mismatch only the last star takes one more character: enough for globs, and quadratic at worst.
bool glob_matches(std::string_view pattern, std::string_view name) {
    size_t p = 0, n = 0, star = pattern.npos, resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
            continue;
        }
        bool matched = false;
        if (p < pattern.size() && pattern[p] == '[') {
            matched = class_matches(pattern, p, name[n]);
        } else if (p < pattern.size()) {
            matched = pattern[p] == '?' || pattern[p] == name[n];
            ++p;
        }
        if (matched) {
            ++n;
        } else if (star != pattern.npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

NamePattern::NamePattern(std::string text, const std::string& source) : text_(std::move(text)) {
    if (!text_.starts_with("re:")) {
        matches_ = [pattern = text_](const std::string& name) {
            const bool above = name.size() > pattern.size() && name[pattern.size()] == '.' && name.starts_with(pattern);
            return above || glob_matches(pattern, name);
        };
        return;
    }
    if (text_.size() > kMaxExpression) {
        fail(ErrorCode::invalid_file, "{}: the expression {}... has {} characters; accepted: up to {}", source,
             text_.substr(0, 40), text_.size(), kMaxExpression);
    }
    try {
        // Polynomial: the matcher keeps a set of states instead of backtracking, so no expression can take for ever.
        std::regex expression(text_.substr(3), std::regex::ECMAScript | std::regex_constants::__polynomial);
        matches_ = [expression = std::move(expression)](const std::string& name) {
            return std::regex_search(name, expression, std::regex_constants::match_continuous);
        };
    } catch (const std::regex_error&) {
        fail(ErrorCode::invalid_file, "{}: {} is not a regular expression that can be read", source, text_);
    }
}

bool NamePattern::matches(const std::vector<std::string>& names) const {
    return std::any_of(names.begin(), names.end(), matches_);
}

}  // namespace colugo
