#include "cli/reply_splitter.h"

#include <gtest/gtest.h>

#include "text/text_goldens.h"

namespace colugo {
namespace {

struct Split {
    std::string shown;  // pieces in order; a thought in brackets
    Reply reply;
};

// prompt and reply are texts in which control tokens count.
Split split(std::string_view prompt, std::string_view reply, bool thinks = true) {
    const Tokenizer& tokenizer = golden_tokenizer();
    const std::vector<int32_t> before = tokenizer.encode(prompt, ControlTokens::recognised);
    ReplySplitter splitter(tokenizer, before, thinks);
    Split result;
    const auto show = [&](const ReplyPiece& piece) {
        if (!piece.reasoning.empty()) result.shown += "[" + piece.reasoning + "]";
        result.shown += piece.marker + piece.content;
    };
    for (const int32_t token : tokenizer.encode(reply, ControlTokens::recognised)) show(splitter.feed(token));
    show(splitter.finish());
    result.reply = splitter.reply();
    return result;
}

TEST(ReplySplitter, TheTemplateOpenedTheThought) {
    const Split got = split("a question<think>\n", "12\n</think>\n\n34 ");
    EXPECT_EQ(got.reply.reasoning, "12");
    EXPECT_EQ(got.reply.content, "34 ");
    EXPECT_EQ(got.shown.substr(0, 6), "[1][2]");
    EXPECT_NE(got.shown.find("</think>\n\n3"), std::string::npos) << got.shown;
}

TEST(ReplySplitter, TheModelOpensTheThought) {
    const Split got = split("a question", "\n<think>\n12\n</think>\n\n34");
    EXPECT_EQ(got.reply.reasoning, "12");
    EXPECT_EQ(got.reply.content, "34");
}

TEST(ReplySplitter, AThoughtTheTemplateClosedIsNone) {
    const Split got = split("a question<think>\n\n</think>\n\n", "\n34\n");
    EXPECT_EQ(got.reply.reasoning, std::nullopt);
    EXPECT_EQ(got.reply.content, "\n34\n");
}

TEST(ReplySplitter, AThoughtThatIsCutStaysOne) {
    const Split got = split("<think>\n", "\n12");
    EXPECT_EQ(got.reply.reasoning, "12");
    EXPECT_EQ(got.reply.content, "");
    EXPECT_EQ(split("<think>\n", "").reply.reasoning, "");
}

TEST(ReplySplitter, OnlyTheFirstThoughtCounts) {
    const Split got = split("<think>", "1</think>2<think>3</think>4");
    EXPECT_EQ(got.reply.reasoning, "1");
    EXPECT_EQ(got.reply.content, "2<think>3</think>4");
    EXPECT_EQ(split("", "1<think>2</think>3").reply.reasoning, std::nullopt);
}

TEST(ReplySplitter, WithoutThinkingOnlyTheTemplateOpensAThought) {
    const Split got = split("", "<think>1</think>2", false);
    EXPECT_EQ(got.reply.reasoning, std::nullopt);
    EXPECT_EQ(got.reply.content, "<think>1</think>2");
    EXPECT_EQ(split("<think>", "1</think>2", false).reply.reasoning, "1");
}

}  // namespace
}  // namespace colugo
