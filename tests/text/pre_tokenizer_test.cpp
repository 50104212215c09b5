#include "text/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "text/regex_splitter.h"
#include "text_goldens.h"
#include "thread_seconds.h"

namespace colugo {
namespace {

using ::testing::ElementsAre;
using Pieces = std::vector<std::string>;

Pieces family_pieces(std::string_view text) {
    Pieces pieces;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = family_piece_end(text, begin);
        pieces.emplace_back(text.substr(begin, end - begin));
        begin = end;
    }
    return pieces;
}

Pieces regex_pieces(std::string_view pattern, std::string_view text) {
    Pieces pieces;
    RegexSplitter(std::string(pattern)).split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
    return pieces;
}

TEST(FamilyPattern, Words) {
    EXPECT_THAT(family_pieces("Hello, wide world!"), ElementsAre("Hello", ",", " wide", " world", "!"));
    EXPECT_THAT(family_pieces("a.b(c)"), ElementsAre("a", ".b", "(c", ")"));
    EXPECT_THAT(family_pieces("x == y;\n\nz"), ElementsAre("x", " ==", " y", ";\n\n", "z"));
    EXPECT_THAT(family_pieces("v12 34"), ElementsAre("v", "1", "2", " ", "3", "4"));
    EXPECT_THAT(family_pieces("\u4f60\u597d\uff0c\u4e16"), ElementsAre("\u4f60\u597d", "\uff0c\u4e16"));
}

TEST(FamilyPattern, Contractions) {
    EXPECT_THAT(family_pieces("it's I'LL"), ElementsAre("it", "'s", " I", "'LL"));
    EXPECT_THAT(family_pieces("it'\u017fx"), ElementsAre("it", "'\u017f", "x"));
    EXPECT_THAT(family_pieces("'rex'vx'l"), ElementsAre("'re", "x", "'vx", "'l"));
    EXPECT_THAT(family_pieces("''s"), ElementsAre("''", "s"));
}

TEST(FamilyPattern, MarksJoinLetters) {
    EXPECT_THAT(family_pieces("\u0939\u093f\u0928\u094d\u0926\u0940 x"),
                ElementsAre("\u0939\u093f\u0928\u094d\u0926\u0940", " x"));
    EXPECT_THAT(family_pieces(".\u0301a \u0301"), ElementsAre(".\u0301a", " \u0301"));
    EXPECT_THAT(family_pieces("1\u0301"), ElementsAre("1", "\u0301"));
    EXPECT_THAT(family_pieces("\n\u0301"), ElementsAre("\n", "\u0301"));
}

TEST(FamilyPattern, WhiteSpace) {
    EXPECT_THAT(family_pieces("a  b"), ElementsAre("a", " ", " b"));
    EXPECT_THAT(family_pieces("a  1"), ElementsAre("a", " ", " ", "1"));
    EXPECT_THAT(family_pieces("a   "), ElementsAre("a", "   "));
    EXPECT_THAT(family_pieces("a \n  b"), ElementsAre("a", " \n", " ", " b"));
    EXPECT_THAT(family_pieces("\r\n\t\r\n\tx"), ElementsAre("\r\n\t\r\n", "\tx"));
    EXPECT_THAT(family_pieces("\u3000\u3000."), ElementsAre("\u3000", "\u3000", "."));
    EXPECT_THAT(family_pieces("!\r\n\n !"), ElementsAre("!\r\n\n", " !"));
}

// Every text of the goldens, and PCRE2 as a second opinion on the pattern where its older tables agree.
TEST(FamilyPattern, AgreesWithARegularExpressionEngine) {
    for (const auto& encoding : golden_cases("encodings")) {
        const std::string text = encoding.at("text");
        if (text.find("\u180e") != std::string::npos || text.find("\u1c89") != std::string::npos) continue;
        EXPECT_EQ(family_pieces(text), regex_pieces(kFamilyPattern, text)) << text;
    }
}

TEST(FamilyPattern, HostileTextsTakeLinearTime) {
    for (const std::string unit :
         {"A", " ", "\u00e9", "\u4eca", ".", "\n ", "\t\n", " \u3000", "'", "' ", "\u0301", "1"}) {
        const auto seconds = [&](size_t count) {
            const std::string text = repeated(unit, count) + "x";
            return thread_seconds([&] { family_pieces(text); });
        };
        EXPECT_LT(seconds(400'000), 8 * seconds(100'000) + 0.01) << '"' << unit << '"';
    }
}

TEST(RegexSplitter, MatchesAndWhatLiesBetweenArePieces) {
    EXPECT_EQ(regex_pieces("[0-9]+", "ab12c3"), (Pieces{"ab", "12", "c", "3"}));
    EXPECT_EQ(regex_pieces(R"(\p{L}+)", "\u00e9\u4eca \u0436"), (Pieces{"\u00e9\u4eca", " ", "\u0436"}));
    EXPECT_EQ(regex_pieces("x", ""), Pieces{});
    EXPECT_EQ(regex_pieces(kByteLevelPattern, "it's  12 ok!\n"), (Pieces{"it", "'s", " ", " 12", " ok", "!", "\n"}));
}

TEST(RegexSplitter, AnEmptyMatchCuts) {
    EXPECT_EQ(regex_pieces("(?=[A-Z])", "fooBarBaz"), (Pieces{"foo", "Bar", "Baz"}));
    EXPECT_EQ(regex_pieces("x*", "\u4ecax"), (Pieces{"\u4eca", "x"}));
    EXPECT_EQ(regex_pieces("$", "ab"), (Pieces{"ab"}));
}

TEST(RegexSplitter, APatternPcre2DoesNotKnowIsRefusedByName) {
    try {
        RegexSplitter("a(b");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
        EXPECT_THAT(error.what(), ::testing::HasSubstr("a(b"));
    }
}

TEST(RegexSplitter, HostileTextsTakeLinearTime) {
    const RegexSplitter splitter{std::string(kByteLevelPattern)};
    for (const std::string unit : {"A", " ", "\u4eca", "."}) {
        const auto seconds = [&](size_t count) {
            const std::string text = repeated(unit, count) + "x";
            return thread_seconds([&] { splitter.split(text, [](std::string_view) {}); });
        };
        EXPECT_LT(seconds(400'000), 8 * seconds(100'000) + 0.01) << '"' << unit << '"';
    }
}

}  // namespace
}  // namespace colugo
