// What a Hugging Face tokenizer.json says, checked: a byte-level BPE with the parts this program has.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_pair_encoder.h"
#include "text/regex_splitter.h"

namespace colugo {

struct TokenizerFile {
    struct Token {
        int32_t id;
        std::string bytes;
        bool encodable;  // made of byte-level characters, so that byte-pair encoding may give it
    };
    struct AddedToken {
        int32_t id;
        std::string content;
        bool special;     // left out of displayed text
        bool normalized;  // recognised after normalization, not before
    };
    std::vector<Token> tokens;             // of the model, in the file's order; ids are different
    std::array<int32_t, 256> byte_tokens;  // the token of each byte; -1 for bytes that UTF-8 never has
    std::vector<Merge> merges;             // in rank order
    std::vector<AddedToken> added_tokens;  // an id that is also in `tokens` has the same content there
    bool nfc = false;
    bool ignore_merges = false;               // a piece that is a token is that token, whatever the merges say
    std::unique_ptr<RegexSplitter> splitter;  // null: the family's pattern
    std::vector<std::string> notices;         // sentences for the user: what the file asks for and is not done
};

// Throws invalid_file when the file contradicts its format or itself, unsupported when it asks for something else than
// this program does; the sentence names the field. `name` is what messages call the file.
TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& name);

}  // namespace colugo
