// Text as it is in a tool call's parameter, up to and with the mark that ends it. It is UTF-8 and does not contain the
// mark, nor does it begin with what would be one behind the line break before the text.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/char_automaton.h"
#include "sampling/json_grammar.h"

namespace colugo {

inline constexpr std::string_view kParameterEnd = "\n</parameter>";

class RawTextGrammar {
 public:
    using Characters = std::bitset<128>;  // ASCII

    explicit RawTextGrammar(JsonGrammar& json) : json_(json), builder_(json.builder()) {}

    // Text of min .. max code points; its first character, if any, is not one of `barred`.
    void of_length(uint32_t from, uint32_t min, uint32_t max, const Characters& barred, uint32_t to);
    // Text that the automaton takes, without what begins with a barred character. `what` is the subject of the sentence
    // that refuses it: none of it can stand here, or it takes too many states.
    void taken_by(uint32_t from, const CharDfa& automaton, const Characters& barred, std::string_view what,
                  uint32_t to);
    // One of these; those that cannot be told from their end are left out.
    void words(uint32_t from, const std::vector<std::string>& words, const Characters& barred, uint32_t to);

 private:
    static constexpr uint32_t kMarkSize = static_cast<uint32_t>(kParameterEnd.size());

    uint32_t free_state(uint32_t matched, bool may_end);
    void make_free();
    void text_edges(uint32_t from, uint32_t matched, uint32_t miss, uint32_t first, uint32_t match,
                    const Characters& barred);

    JsonGrammar& json_;
    GrammarBuilder& builder_;
    uint32_t free_ = 0;  // 0: not made yet
};

}  // namespace colugo
