// Text to token ids, as the Hugging Face package `tokenizers` gives them, but with a say in where control tokens count.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/byte_pair_encoder.h"
#include "text/control_matcher.h"
#include "text/encoding_memo.h"
#include "text/regex_splitter.h"
#include "text/text_span.h"
#include "text/token_table.h"

namespace colugo {

struct TokenizerFile;

enum class ControlTokens { recognised, plain_text };

// Immutable once made: const calls may come from several threads.
class Tokenizer {
 public:
    // Reads a Hugging Face tokenizer.json. Throws not_found, io, invalid_file or unsupported, naming the path.
    static Tokenizer from_file(const std::string& path);
    // The same from the file's text; `name` is what messages call it.
    static Tokenizer from_json(std::string_view text, const std::string& name);

    // A control token (an added token of the file) is recognised where all of it lies outside `content_spans`; inside,
    // and where it would straddle a border, its text is encoded like any other. The spans are in order and do not
    // overlap. Their borders cut nothing else: ids are those of the whole text. Bytes that are not UTF-8 become U+FFFD
    // first (the rule is in utf8.h). Control tokens the file marks `normalized` are matched after normalization: if
    // that changes the text between two other control tokens and any of it is content, none of them is recognised
    // there. Without spans the ids are those of the package's encode(text, add_special_tokens=False). memo: of this
    // tokenizer alone; what lies between two control tokens is looked up there first, and then kept.
    std::vector<int32_t> encode(std::string_view text, std::span<const TextSpan> content_spans = {},
                                const ScopedMemo* memo = nullptr) const;
    std::vector<int32_t> encode(std::string_view text, ControlTokens control_tokens) const;

    // The bytes of a token, which need not be UTF-8; of a control token its content; empty for an id without a token.
    std::string_view token_bytes(int32_t id) const { return tokens_.bytes(id); }
    bool has_token(int32_t id) const { return tokens_.has(id); }
    int32_t vocab_size() const { return tokens_.size(); }    // ids with a token
    int32_t id_limit() const { return tokens_.id_limit(); }  // the highest id + 1

    // The control token with this content.
    std::optional<int32_t> find(std::string_view content) const;
    bool is_control(int32_t id) const { return has_flag(id, kControl); }
    // A control token the file marks special: it is no part of displayed text.
    bool is_special(int32_t id) const { return has_flag(id, kSpecial); }

    // Sentences for the user about what the file asks for and this program does otherwise.
    const std::vector<std::string>& notices() const { return notices_; }

 private:
    static constexpr uint8_t kControl = 1;
    static constexpr uint8_t kSpecial = 2;
    struct Encoding;

    explicit Tokenizer(TokenizerFile&& file);
    void add_control_tokens(const TokenizerFile& file);
    void index_words(const TokenizerFile& file);
    bool has_flag(int32_t id, uint8_t flag) const {
        return tokens_.has(id) && (flags_[static_cast<size_t>(id)] & flag) != 0;
    }
    // Valid UTF-8, normalized where the file asks for it; may lie in `encoding`.
    std::string_view prepare(std::string_view raw, Encoding& encoding) const;
    void encode_between_raw_controls(std::string_view text, TextSpan between, Encoding& encoding) const;
    void encode_without_controls(std::string_view raw, Encoding& encoding) const;
    void encode_plain(std::string_view text, Encoding& encoding) const;
    void encode_piece(std::string_view piece, Encoding& encoding) const;

    TokenTable tokens_;
    std::vector<uint8_t> flags_;  // [id_limit] kControl, kSpecial
    BytePairEncoder encoder_;
    WordIndex words_;                     // the tokens that byte-pair encoding of their bytes gives back
    ControlMatcher raw_controls_;         // matched before normalization
    ControlMatcher normalized_controls_;  // matched after it, in what the others leave
    std::unordered_map<std::string, int32_t> control_ids_;
    bool nfc_ = false;
    std::unique_ptr<RegexSplitter> splitter_;  // null: the family's pattern
    std::vector<std::string> notices_;
};

}  // namespace colugo
