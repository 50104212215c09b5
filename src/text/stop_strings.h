// Strings that end a text, looked for in its bytes as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

class StopStrings {
 public:
    // Throws invalid_argument for an empty one.
    explicit StopStrings(const std::vector<std::string>& strings);

    // The next bytes of the text. True: one of the strings is complete, the first to be so, and the text ends where it
    // begins; nothing more is to be fed.
    bool feed(std::string_view bytes);

    // Of the last bytes that were fed: those that a string may yet turn out to begin with; once one is complete, those
    // from its begin on, and what came behind it.
    int64_t held() const { return held_; }

 private:
    // The automaton of Knuth, Morris and Pratt.
    struct Pattern {
        std::string text;
        std::vector<size_t> border;  // of each beginning of it: the longest shorter one that it ends with
        size_t matched = 0;
        void feed(char byte);
        bool complete() const { return matched == text.size(); }
    };
    std::vector<Pattern> patterns_;
    int64_t held_ = 0;
};

}  // namespace colugo
