#include "text/stop_strings.h"

#include <algorithm>

#include "base/error.h"

namespace colugo {

void StopStrings::Pattern::feed(char byte) {
    while (matched > 0 && text[matched] != byte) matched = border[matched - 1];
    if (text[matched] == byte) ++matched;
}

StopStrings::StopStrings(const std::vector<std::string>& strings) {
    for (const std::string& text : strings) {
        if (text.empty()) fail(ErrorCode::invalid_argument, "a stop string is empty; expected at least one byte");
        Pattern pattern{.text = text, .border = {0}};
        // The text without its first byte, matched against its own beginning.
        for (size_t i = 1; i < text.size(); ++i) {
            pattern.feed(text[i]);
            pattern.border.push_back(pattern.matched);
        }
        pattern.matched = 0;
        patterns_.push_back(std::move(pattern));
    }
}

bool StopStrings::feed(std::string_view bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
        size_t partial = 0, whole = 0;
        for (Pattern& pattern : patterns_) {
            pattern.feed(bytes[i]);
            partial = std::max(partial, pattern.matched);
            if (pattern.complete()) whole = std::max(whole, pattern.matched);
        }
        held_ = static_cast<int64_t>(partial);
        if (whole == 0) continue;
        held_ = static_cast<int64_t>(whole + bytes.size() - i - 1);
        return true;
    }
    return false;
}

}  // namespace colugo
