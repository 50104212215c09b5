// Any bytes, encoded with nano's tokenizer and decoded again. Input: a byte of places, that many bytes of where content
// lies, and the text.
#include <vector>

#include "base/error.h"
#include "fuzz/fuzz_input.h"
#include "text/detokenizer.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/regex_splitter.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace colugo::fuzz {
namespace {

using Ids = std::vector<int32_t>;

const Tokenizer& tokenizer() {
    static const Tokenizer nano = Tokenizer::from_json(source_file("models/nano/tokenizer.json"), "tokenizer.json");
    return nano;
}

bool is_utf8(std::string_view text) {
    std::string storage;
    return to_valid_utf8(text, storage).data() == text.data();
}

std::string bytes_of(const Ids& ids) {
    std::string bytes;
    for (const int32_t id : ids) {
        COLUGO_CHECK(tokenizer().has_token(id));
        bytes += tokenizer().token_bytes(id);
    }
    return bytes;
}

std::string nfc(std::string_view text) {
    std::string storage;
    return std::string(to_nfc(text, storage));
}

void check_normalizer(std::string_view text) {
    const std::string once = nfc(text);
    COLUGO_CHECK(is_utf8(once));
    std::string storage;
    COLUGO_CHECK(to_nfc(once, storage).data() == once.data());
}

// Below U+0800 PCRE2's older tables and U+180E tell nothing else.
void check_pieces(std::string_view text) {
    std::vector<std::string_view> pieces;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = family_piece_end(text, begin);
        COLUGO_CHECK(end > begin && end <= text.size());
        pieces.push_back(text.substr(begin, end - begin));
        begin = end;
    }
    for (size_t at = 0; at < text.size();) {
        const Utf8Character character = decode_valid_utf8(text.data() + at);
        if (character.code_point >= 0x800) return;
        at += character.length;
    }
    static const RegexSplitter family{std::string(kFamilyPattern)};
    std::vector<std::string_view> matched;
    try {
        family.split(text, [&](std::string_view piece) { matched.push_back(piece); });
    } catch (const Error& error) {
        COLUGO_CHECK(error.code() == ErrorCode::resource_exhausted);
        return;
    }
    COLUGO_CHECK(pieces == matched);
}

// Where nothing is a control token, the bytes are the text's, and encoding them again gives the same tokens.
void check_plain(std::string_view valid) {
    const Ids ids = tokenizer().encode(valid, ControlTokens::plain_text);
    for (const int32_t id : ids) COLUGO_CHECK(!tokenizer().is_control(id));
    const std::string bytes = bytes_of(ids);
    COLUGO_CHECK(bytes == nfc(valid));
    COLUGO_CHECK(tokenizer().encode(bytes, ControlTokens::plain_text) == ids);
    check_pieces(bytes);
}

// Token by token the detokenizer gives whole characters, and all of them in the end.
void check_detokenizer(const Ids& ids) {
    Detokenizer detokenizer(tokenizer(), Detokenizer::SpecialTokens::shown);
    std::string text;
    for (const int32_t id : ids) {
        detokenizer.feed(id, text);
        COLUGO_CHECK(is_utf8(text));
    }
    detokenizer.flush(text);
    std::string storage;
    const std::string bytes = bytes_of(ids);
    COLUGO_CHECK(text == to_valid_utf8(bytes, storage));
}

void check(std::string_view text, const std::vector<TextSpan>& spans) {
    std::string storage;
    const std::string_view valid = to_valid_utf8(text, storage);
    check_normalizer(valid);
    check_plain(valid);
    COLUGO_CHECK(tokenizer().encode(text, ControlTokens::plain_text) ==
                 tokenizer().encode(valid, ControlTokens::plain_text));
    const TextSpan everything{0, text.size()};
    COLUGO_CHECK(tokenizer().encode(text, std::span(&everything, 1)) ==
                 tokenizer().encode(text, ControlTokens::plain_text));
    const Ids ids = tokenizer().encode(text, spans);
    // A control token cuts a text that would be normalized across it.
    COLUGO_CHECK(nfc(bytes_of(ids)) == nfc(valid));
    check_detokenizer(ids);
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    fuzz::FuzzInput input(data, size);
    std::vector<size_t> borders;
    for (size_t count = input.byte() % 8; count > 0; --count) borders.push_back(input.byte());
    const std::string_view text = input.rest();
    std::vector<TextSpan> spans;
    size_t at = 0;
    for (size_t i = 0; i + 1 < borders.size(); i += 2) {
        const size_t begin = std::min(at + borders[i], text.size());
        at = std::min(begin + borders[i + 1], text.size());
        spans.push_back({begin, at});
    }
    fuzz::check(text, spans);
    return 0;
}
