#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include "text/utf8.h"
#include "text_goldens.h"

namespace colugo {
namespace {

std::string text_of(std::span<const int32_t> ids, Detokenizer::SpecialTokens special) {
    Detokenizer detokenizer(golden_tokenizer(), special);
    std::string text;
    for (const int32_t id : ids) {
        detokenizer.feed(id, text);
        std::string storage;
        EXPECT_EQ(to_valid_utf8(text, storage), text) << "not whole UTF-8";
    }
    detokenizer.flush(text);
    return text;
}

// The token of one byte.
int32_t token_of_byte(unsigned char byte) {
    for (int32_t id = 0; id < golden_tokenizer().id_limit(); ++id) {
        const std::string_view bytes = golden_tokenizer().token_bytes(id);
        if (bytes.size() == 1 && static_cast<unsigned char>(bytes[0]) == byte) return id;
    }
    return -1;
}

TEST(Detokenizer, GivesWhatTheHuggingFacePackageDecodes) {
    for (const auto& decoding : golden_cases("decodings")) {
        const auto ids = decoding.at("ids").get<std::vector<int32_t>>();
        EXPECT_EQ(text_of(ids, Detokenizer::SpecialTokens::shown), decoding.at("text").get<std::string>());
        EXPECT_EQ(text_of(ids, Detokenizer::SpecialTokens::skipped), decoding.at("displayed").get<std::string>());
    }
}

TEST(Detokenizer, HoldsAnUnfinishedCharacterBack) {
    Detokenizer detokenizer(golden_tokenizer());
    std::string text;
    for (const int byte : {0xF0, 0x9F, 0x98}) {
        detokenizer.feed(token_of_byte(static_cast<unsigned char>(byte)), text);
        EXPECT_EQ(text, "");
    }
    detokenizer.feed(token_of_byte(0x80), text);
    EXPECT_EQ(text, "\U0001F600");
    detokenizer.flush(text);
    EXPECT_EQ(text, "\U0001F600");
}

TEST(Detokenizer, BytesThatAreNoCharacterAreReplacedAtOnce) {
    const std::string r(kReplacementCharacter);
    Detokenizer detokenizer(golden_tokenizer());
    std::string text;
    detokenizer.feed(token_of_byte(0xE4), text);
    detokenizer.feed(token_of_byte('a'), text);
    EXPECT_EQ(text, r + "a");
    detokenizer.feed(token_of_byte(0x80), text);
    EXPECT_EQ(text, r + "a" + r);
    detokenizer.feed(token_of_byte(0xE4), text);
    detokenizer.feed(token_of_byte(0xBB), text);
    EXPECT_EQ(text, r + "a" + r);
    detokenizer.flush(text);
    EXPECT_EQ(text, r + "a" + r + r);
    detokenizer.feed(token_of_byte('b'), text);
    EXPECT_EQ(text, r + "a" + r + r + "b") << "nothing is held after flush";
}

TEST(Detokenizer, SpecialTokensAreSkippedAndOtherControlTokensShown) {
    const Tokenizer& tokenizer = golden_tokenizer();
    const std::vector<int32_t> ids = {*tokenizer.find("<think>"), *tokenizer.find("<|im_end|>"), token_of_byte('x'), -1,
                                      tokenizer.id_limit()};
    EXPECT_EQ(text_of(ids, Detokenizer::SpecialTokens::skipped), "<think>x");
    EXPECT_EQ(text_of(ids, Detokenizer::SpecialTokens::shown), "<think><|im_end|>x");
}

TEST(Detokenizer, EveryEncodedTextComesBack) {
    for (const auto& encoding : golden_cases("encodings")) {
        const auto ids = golden_tokenizer().encode(encoding.at("text").get<std::string>());
        const std::string text = text_of(ids, Detokenizer::SpecialTokens::shown);
        EXPECT_EQ(golden_tokenizer().encode(text), ids);
    }
}

}  // namespace
}  // namespace colugo
