#include "text/utf8.h"

#include <gtest/gtest.h>

namespace colugo {
namespace {

std::string valid(std::string_view text) {
    std::string storage;
    return std::string(to_valid_utf8(text, storage));
}

// The expected texts are what Python's bytes.decode("utf-8", errors="replace") gives.
TEST(Utf8, EachMaximalSubpartBecomesOneReplacementCharacter) {
    const std::string r(kReplacementCharacter);
    EXPECT_EQ(valid("a\x80z"), "a\uFFFDz");
    EXPECT_EQ(valid("\xC0\xAF"), r + r);                       // overlong
    EXPECT_EQ(valid("\xE0\x80\x80"), r + r + r);               // overlong
    EXPECT_EQ(valid("\xE0\xA0z"), r + "z");                    // two of three bytes
    EXPECT_EQ(valid("\xED\xA0\x80"), r + r + r);               // a surrogate
    EXPECT_EQ(valid("\xF0\x9F\x98"), r);                       // three of four bytes
    EXPECT_EQ(valid("\xF0\x8F\xBF\xBF"), r + r + r + r);       // overlong
    EXPECT_EQ(valid("\xF4\x90\x80\x80"), r + r + r + r);       // above U+10FFFF
    EXPECT_EQ(valid("\xF5\xFF"), r + r);                       // never in UTF-8
    EXPECT_EQ(valid("\xE4\xBD<|im_end|>"), r + "<|im_end|>");  // what follows is kept
    EXPECT_EQ(valid("\xF0\x9F\xF0\x9F\x98\x80"), r + "\U0001F600");
}

TEST(Utf8, ValidTextIsNotCopied) {
    const std::string text = "ASCII at first, then \u00e9 \u4eca \U0001F600 \uD7FF \uE000 \U0010FFFF";
    std::string storage;
    EXPECT_EQ(to_valid_utf8(text, storage).data(), text.data());
}

TEST(Utf8, EveryCodePointIsReadAsItIsWritten) {
    for (uint32_t c = 0; c < 0x110000; ++c) {
        std::string text;
        append_utf8(c, text);
        const Utf8Step step = utf8_step(text, 0);
        if (c >= 0xD800 && c < 0xE000) {
            ASSERT_EQ(step.kind, Utf8Step::ill_formed) << c;
            continue;
        }
        ASSERT_EQ(step.kind, Utf8Step::character) << c;
        ASSERT_EQ(step.code_point, c);
        ASSERT_EQ(step.length, text.size()) << c;
        ASSERT_EQ(decode_valid_utf8(text.data()).code_point, c);
        for (size_t cut = 1; cut < text.size(); ++cut) {
            const Utf8Step part = utf8_step(std::string_view(text).substr(0, cut), 0);
            ASSERT_EQ(part.kind, Utf8Step::incomplete) << c;
            ASSERT_EQ(part.length, cut) << c;
        }
    }
}

TEST(Utf8, AsciiPrefixEndsAtTheFirstOtherByte) {
    for (size_t length = 0; length < 40; ++length) {
        const std::string text = std::string(length, 'a');
        EXPECT_EQ(ascii_prefix(text), length);
        EXPECT_EQ(ascii_prefix(text + "\u00e9" + text), length);
    }
}

}  // namespace
}  // namespace colugo
