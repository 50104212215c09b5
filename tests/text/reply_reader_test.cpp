#include "text/reply_reader.h"

#include <gtest/gtest.h>

#include "text/text_goldens.h"

namespace colugo {
namespace {

struct Read {
    std::string reasoning, content;
    bool has_thought = false;
};

void gather(std::vector<ReplyPiece>& pieces, Read& read) {
    for (const ReplyPiece& piece : pieces) {
        (piece.kind == ReplyPiece::Kind::reasoning ? read.reasoning : read.content) += piece.text;
    }
    pieces.clear();
}

// prompt and reply are texts in which control tokens count.
Read read_reply(std::string_view prompt, std::string_view reply, bool may_think = true) {
    const Tokenizer& tokenizer = golden_tokenizer();
    const std::vector<int32_t> before = tokenizer.encode(prompt, ControlTokens::recognised);
    ReplyReader reader(tokenizer, {.thought = thought_behind(tokenizer, before, may_think)});
    std::vector<ReplyPiece> pieces;
    for (const int32_t token : tokenizer.encode(reply, ControlTokens::recognised)) reader.feed(token, 0, pieces);
    reader.finish(0, false, pieces);
    Read read;
    read.has_thought = reader.parser().has_thought();
    gather(pieces, read);
    return read;
}

TEST(ReplyReader, TheTemplateOpenedTheThought) {
    const Read read = read_reply("a question<think>\n", "12\n</think>\n\n34 ");
    EXPECT_EQ(read.reasoning, "12");
    EXPECT_EQ(read.content, "34 ");
}

TEST(ReplyReader, TheModelOpensTheThought) {
    const Read read = read_reply("a question", "\n<think>\n12\n</think>\n\n34");
    EXPECT_EQ(read.reasoning, "12");
    EXPECT_EQ(read.content, "34");
}

TEST(ReplyReader, AThoughtTheTemplateClosedIsNone) {
    const Read read = read_reply("a question<think>\n\n</think>\n\n", "\n34\n");
    EXPECT_FALSE(read.has_thought);
    EXPECT_EQ(read.content, "\n34\n");
}

TEST(ReplyReader, ThePromptEndsBehindAThought) {
    const Tokenizer& tokenizer = golden_tokenizer();
    const auto is_behind = [&](std::string_view prompt) {
        return ends_behind_thought(tokenizer, tokenizer.encode(prompt, ControlTokens::recognised));
    };
    EXPECT_TRUE(is_behind("a question<think>\n\n</think>\n\n"));
    EXPECT_TRUE(is_behind("</think>"));
    EXPECT_FALSE(is_behind("a question<think>\n"));
    EXPECT_FALSE(is_behind("<think>\n12\n</think>\n\n34"));
    EXPECT_FALSE(is_behind(" \n"));
    EXPECT_FALSE(is_behind(""));
}

TEST(ReplyReader, AThoughtThatIsCutStaysOne) {
    EXPECT_EQ(read_reply("<think>\n", "\n12").reasoning, "12");
    EXPECT_EQ(read_reply("<think>\n", "\n12").content, "");
    EXPECT_TRUE(read_reply("<think>\n", "").has_thought);
}

TEST(ReplyReader, OnlyTheFirstThoughtCounts) {
    const Read read = read_reply("<think>", "1</think>2<think>3</think>4");
    EXPECT_EQ(read.reasoning, "1");
    EXPECT_EQ(read.content, "2<think>3</think>4");
    EXPECT_FALSE(read_reply("", "1<think>2</think>3").has_thought);
}

TEST(ReplyReader, WithoutThinkingOnlyTheTemplateOpensAThought) {
    const Read read = read_reply("", "<think>1</think>2", false);
    EXPECT_FALSE(read.has_thought);
    EXPECT_EQ(read.content, "<think>1</think>2");
    EXPECT_EQ(read_reply("<think>", "1</think>2", false).reasoning, "1");
}

// Held bytes come out later or never, and control tokens whole.
TEST(ReplyReader, WhatIsHeldIsNotGivenOut) {
    const Tokenizer& tokenizer = golden_tokenizer();
    const std::vector<int32_t> tokens = tokenizer.encode("caf\xC3\xA9<think>", ControlTokens::recognised);
    const auto bytes = static_cast<int64_t>(std::string_view("caf\xC3\xA9<think>").size());
    for (int64_t held = 0; held <= bytes; ++held) {
        ReplyReader reader(tokenizer, {});
        std::vector<ReplyPiece> pieces;
        for (const int32_t token : tokens) reader.feed(token, bytes, pieces);
        EXPECT_TRUE(pieces.empty());
        reader.finish(held, false, pieces);
        Read read;
        gather(pieces, read);
        const std::string expected = held == 0   ? "caf\xC3\xA9<think>"
                                     : held <= 7 ? "caf\xC3\xA9"
                                     : held == 8 ? "caf\xEF\xBF\xBD"
                                                 : std::string("caf").substr(0, static_cast<size_t>(12 - held));
        EXPECT_EQ(read.content, expected) << held;
    }
}

}  // namespace
}  // namespace colugo
