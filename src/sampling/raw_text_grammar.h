// Text as it is in a tool call's parameter, up to and with the mark that ends it. Readers of calls look for tags in it:
// it contains none of those that mean something to them (kCallTags), and is UTF-8.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sampling/call_tags.h"
#include "sampling/char_automaton.h"
#include "sampling/json_grammar.h"

namespace colugo {

class RawTextGrammar {
 public:
    using Characters = std::bitset<128>;                 // ASCII
    static constexpr uint32_t kMaxCountedLength = 8192;  // of text whose length is counted

    explicit RawTextGrammar(JsonGrammar& json)
        : json_(json), builder_(json.builder()), clear_(strings_without(kCallTags)) {}

    // Text of min .. max code points, neither but kNoMaximum above kMaxCountedLength; its first character, if any, is
    // not one of `barred`.
    void of_length(uint32_t from, uint32_t min, uint32_t max, const Characters& barred, uint32_t to);
    // Text that the automaton takes, without what begins with a barred character. `what` is the subject of the sentence
    // that refuses it: none of it can stand here, or it takes too many states.
    void taken_by(uint32_t from, const CharDfa& automaton, const Characters& barred, std::string_view what,
                  uint32_t to);
    // One of these; those that cannot be written so, or begin with a barred character, are left out.
    void words(uint32_t from, const std::vector<std::string>& words, const Characters& barred, uint32_t to);

 private:
    uint32_t free_state(uint32_t state);
    uint32_t counted(uint32_t min, uint32_t max, const Characters& barred);
    void text_edges(uint32_t from, uint32_t state, uint32_t row, const Characters& barred);

    JsonGrammar& json_;
    GrammarBuilder& builder_;
    const CharDfa clear_;                                        // of the tags
    uint32_t free_ = 0;                                          // 0: not made yet
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> counted_;  // by min and max, where nothing is barred
};

}  // namespace colugo
