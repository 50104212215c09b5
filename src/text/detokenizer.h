// Token ids, one at a time, to text that is whole UTF-8 at every moment.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"
#include "text/utf8.h"

namespace colugo {

class Detokenizer {
 public:
    enum class SpecialTokens { shown, skipped };

    // The tokenizer outlives the detokenizer.
    explicit Detokenizer(const Tokenizer& tokenizer, SpecialTokens special_tokens = SpecialTokens::skipped)
        : tokenizer_(&tokenizer), skip_special_(special_tokens == SpecialTokens::skipped) {}

    // Appends to `out` the characters this token completes. The first bytes of an unfinished character, at most three,
    // are held back; bytes that can be no character become U+FFFD by the rule of utf8.h. An id without a token adds
    // nothing.
    void feed(int32_t id, std::string& out);

    // The end of the text: an unfinished character becomes one U+FFFD. The next token begins a new text.
    void flush(std::string& out) { characters_.flush(out); }

 private:
    const Tokenizer* tokenizer_;
    bool skip_special_;
    Utf8Stream characters_;
};

}  // namespace colugo
