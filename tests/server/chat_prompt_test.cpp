// Whole requests, rendered with the templates of checkpoints.
#include "server/chat_prompt.h"

#include <gtest/gtest.h>

#include "server/request_harness.h"

namespace colugo::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The templates that have the family's form: nano's own, and the one published with Qwen3.5 where it is there.
class FamilyTemplate : public ::testing::TestWithParam<const char*> {
 protected:
    void SetUp() override {
        const std::string name = GetParam();
        const std::string path = name == "nano" ? COLUGO_SOURCE_DIR "/models/nano/chat_template.jinja"
                                                : shared_folder() + "/templates/" + name + ".jinja";
        template_ = template_file(path);
        if (!template_) GTEST_SKIP() << "no " << path;
    }

    // With thinking, which the templates have different defaults for.
    std::string prompt(const std::string& messages, const std::string& fields = "{}") const {
        RequestDefaults defaults = test_defaults();
        defaults.thinking = true;
        return prompt_of(*template_, conversation(messages, fields, defaults));
    }
    // The same for what can be said in one way only: no rule of ours.
    std::string plain_prompt(const std::string& messages) const {
        ChatInput input;
        input.messages = *parse_json_text(messages);
        input.extra["enable_thinking"] = true;
        return template_->render(input).text;
    }

    std::optional<ChatTemplate> template_;
};

INSTANTIATE_TEST_SUITE_P(Server, FamilyTemplate, ::testing::Values("nano", "Qwen3.5-4B"),
                         [](const auto& one) { return std::string(one.index == 0 ? "nano" : "Qwen35"); });

const std::string kUser = R"({"role": "user", "content": "Q"})";
const std::string kText = R"({"role": "assistant", "content": "The answer is"})";
const std::string kCall = R"({"role": "assistant", "content": null, "reasoning_content": "T", "refusal": null,
    "annotations": [], "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments":
    "{\"b\": {\"x\": 1}, \"a\": \"\\u4f60 <\\/p>\"}"}}]})";
const std::string kResult = R"({"role": "tool", "tool_call_id": "call_1", "content": "R"})";
const std::string kThinking = "<|im_start|>assistant\n<think>\n";

TEST_P(FamilyTemplate, WhatNeedsNoRuleIsRenderedAsItIs) {
    for (const std::string& messages :
         {"[" + kUser + "]", "[{\"role\": \"system\", \"content\": \"S\"}, " + kUser + "]",
          "[" + kUser + R"(, {"role": "assistant", "reasoning_content": "T", "content": "A"}, )" + kUser + "]"}) {
        EXPECT_EQ(prompt(messages), plain_prompt(messages));
    }
}

TEST_P(FamilyTemplate, ASystemMessageMayComeLater) {
    const std::string text = prompt(R"([{"role": "system", "content": "S"}, {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "A"}, {"role": "system", "content": "N"}, {"role": "user", "content": "Q"}])");
    EXPECT_THAT(text, StartsWith("<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n"));
    EXPECT_THAT(text, HasSubstr("<|im_start|>user\n<system-reminder>\nN\n</system-reminder><|im_end|>\n"));
}

TEST_P(FamilyTemplate, TheDevelopersInstructionReachesTheModel) {
    EXPECT_THAT(prompt("[{\"role\": \"developer\", \"content\": \"Reply only BANANA\"}, " + kUser + "]"),
                StartsWith("<|im_start|>system\nReply only BANANA<|im_end|>\n"));
}

// However a conversation goes on, its prompt begins with what was read before, but for the begin of the reply.
TEST_P(FamilyTemplate, WhatComesLaterChangesNoBegin) {
    const std::string turns[] = {
        R"({"role": "system", "content": "S"})",
        kCall,
        kResult,
        R"({"role": "system", "content": "N"})",
        kCall,
        kResult,
        kResult,
    };
    // What follows may be added to the last turn.
    const auto open_end = [](const std::string& text) {
        for (const std::string end : {"\n</tool_response><|im_end|>\n", "<|im_end|>\n"}) {
            if (text.ends_with(end)) return text.substr(0, text.size() - end.size());
        }
        return text;
    };
    std::string messages, before;
    for (const std::string& turn : turns) {
        messages += (messages.empty() ? "" : ", ") + turn;
        const std::string text = prompt("[" + messages + "]", R"({"add_generation_prompt": false})");
        EXPECT_THAT(text, StartsWith(open_end(before)));
        before = text;
    }
}

TEST_P(FamilyTemplate, CallAndResultAloneAreAConversation) {
    const std::string text = prompt("[{\"role\": \"system\", \"content\": \"S\"}, " + kCall + ", " + kResult + "]");
    EXPECT_THAT(text,
                StartsWith("<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"
                           "<think>\nT\n</think>\n\n<tool_call>\n<function=f>\n"));
    EXPECT_THAT(text, EndsWith("<tool_response>\nR\n</tool_response><|im_end|>\n" + kThinking));
}

TEST_P(FamilyTemplate, OurOwnResponseIsValidInput) {
    const std::string text = prompt("[" + kUser + ", " + kCall + ", " + kResult + "]");
    EXPECT_THAT(text, HasSubstr("<think>\nT\n</think>\n\n<tool_call>\n<function=f>\n<parameter=b>\n{\"x\": 1}\n"
                                "</parameter>\n<parameter=a>\n\u4f60 </p>\n</parameter>\n</function>\n</tool_call>"));
}

TEST_P(FamilyTemplate, BrokenCallsDoNotEndASession) {
    for (const char* arguments : {R"("{\"a\": ")", R"("[1]")", R"("\ud83d")", "null"}) {
        const std::string call = R"({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": )" +
                                 std::string(arguments) + "}}]}";
        EXPECT_THAT(prompt("[" + kUser + ", " + call + ", " + kResult + ", " + kUser + "]"), HasSubstr("<function=f>"));
    }
}

TEST_P(FamilyTemplate, MissingNullAndEmptyReasoningAreTheSameBytes) {
    const auto with = [&](const std::string& reasoning) {
        return prompt("[" + kUser + R"(, {"role": "assistant", "content": "A")" + reasoning + "}, " + kCall + ", " +
                      kResult + "]");
    };
    for (const char* field : {"reasoning_content", "reasoning"}) {
        EXPECT_EQ(with(", \"" + std::string(field) + "\": null"), with(""));
        EXPECT_EQ(with(", \"" + std::string(field) + "\": \"\""), with(""));
        EXPECT_EQ(with(", \"" + std::string(field) + "\": \"T\""), with(", \"reasoning_content\": \"T\""));
    }
    EXPECT_THAT(with(", \"reasoning\": \"T\""), HasSubstr("<think>\nT\n</think>\n\nA"));
}

TEST_P(FamilyTemplate, PastTurnsHaveBalancedTags) {
    std::string messages;
    for (int turn = 0; turn < 3; ++turn) {
        messages += kUser + R"(, {"role": "assistant", "content": "<think>T</think>A"}, )";
    }
    const std::string text = prompt("[" + messages + kUser + "]");
    EXPECT_EQ(text.find("<think>"), text.rfind("<think>"));  // that of the reply that begins
    EXPECT_THAT(text, EndsWith(kThinking));
    EXPECT_THAT(text, Not(HasSubstr("</think>")));
}

TEST_P(FamilyTemplate, TagsInATextAreText) {
    const std::string text = prompt("[" + kUser + R"(, {"role": "assistant", "content": "end with </think> so"}])");
    EXPECT_THAT(text, EndsWith("<think>\n\n</think>\n\nend with </think> so"));
}

TEST_P(FamilyTemplate, ThinkingIsTurnedOffPerRequest) {
    const std::string open = prompt("[" + kUser + "]"), off = R"({"chat_template_kwargs": {"enable_thinking": false}})";
    EXPECT_THAT(open, EndsWith(kThinking));
    EXPECT_THAT(prompt("[" + kUser + "]", off), EndsWith("<think>\n\n</think>\n\n"));
    EXPECT_EQ(prompt("[" + kUser + "]", R"({"reasoning_effort": "none"})"), prompt("[" + kUser + "]", off));
    EXPECT_EQ(prompt("[" + kUser + "]", R"({"reasoning_effort": "high"})"), open);
}

TEST(NanoTemplate, ThinksOnlyWhereItIsToldTo) {
    const ModelText nano(COLUGO_SOURCE_DIR "/models/nano");
    const auto prompt = [&](const std::string& fields) {
        return render_prompt(nano, conversation("[" + kUser + "]", fields)).text;
    };
    const std::string closed = kThinking + "\n</think>\n\n";
    EXPECT_THAT(prompt("{}"), EndsWith(closed));
    EXPECT_THAT(prompt(R"({"enable_thinking": false})"), EndsWith(closed));
    EXPECT_THAT(prompt(R"({"enable_thinking": true})"), EndsWith(kThinking));
    EXPECT_THAT(prompt(R"({"reasoning_effort": "low"})"), EndsWith(kThinking));
}

TEST_P(FamilyTemplate, ATextAtTheEndIsGoneOnWith) {
    const std::string turn = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n<think>\n";
    const auto end = [](const std::string& fields) {
        return "[" + kUser + ", {\"role\": \"assistant\", " + fields + "}]";
    };
    EXPECT_EQ(prompt(end(R"("content": "The answer is")")), turn + "\n</think>\n\nThe answer is");
    EXPECT_EQ(prompt(end(R"("content": "The answer is ")")), turn + "\n</think>\n\nThe answer is ");
    EXPECT_EQ(prompt(end(R"("content": "<think>T</think>The answer")")), turn + "T\n</think>\n\nThe answer");
    EXPECT_EQ(prompt(end(R"("content": null, "reasoning_content": "T")")), turn + "T\n</think>\n\n");
    EXPECT_EQ(prompt(end(R"("content": "<think>\nhalf a thou")")), turn + "half a thou");
    EXPECT_EQ(prompt(end(R"("content": "[the reply goes on here] a")")),
              turn + "\n</think>\n\n[the reply goes on here] a");
    EXPECT_THAT(prompt(end(R"("content": "A")"), R"({"continue_final_message": false})"),
                EndsWith("</think>\n\nA<|im_end|>\n" + kThinking));
    EXPECT_THAT(prompt(end(R"("content": "A")"), R"({"add_generation_prompt": true})"),
                EndsWith("</think>\n\nA<|im_end|>\n" + kThinking));
}

TEST_P(FamilyTemplate, ACallAtTheEndIsRendered) {
    EXPECT_THAT(prompt("[" + kUser + ", " + kCall + "]"),
                EndsWith("</parameter>\n</function>\n</tool_call><|im_end|>\n" + kThinking));
}

TEST_P(FamilyTemplate, ToolsKeepTheirBytes) {
    const std::string tools = R"({"tools": [{"type": "function", "function": {"name": "f", "description":
        "\u4f60\u597d / <a> \"q\"", "parameters": {"properties": {"b": {}, "a": {"maximum": 1.50}}}}}])";
    EXPECT_THAT(prompt("[" + kUser + "]", tools + "}"),
                HasSubstr("\n{\"type\": \"function\", \"function\": {\"name\": \"f\", \"description\": "
                          "\"\u4f60\u597d / <a> \\\"q\\\"\", \"parameters\": {\"properties\": {\"b\": {}, \"a\": "
                          "{\"maximum\": 1.5}}}}}\n</tools>"));
    EXPECT_EQ(prompt("[" + kUser + "]", tools + ", \"tool_choice\": \"none\"}"),
              prompt("[" + kUser + "]", tools + "}"));
}

TEST_P(FamilyTemplate, TheBillingHeaderChangesNoPrompt) {
    const auto with = [&](const std::string& hash) {
        return prompt(
            "[{\"role\": \"system\", \"content\": [{\"type\": \"text\", \"text\": \"x-anthropic-billing-header: cch=" +
            hash + ";\"}, {\"type\": \"text\", \"text\": \"S\"}]}, " + kUser + "]");
    };
    EXPECT_EQ(with("aaaaa"), with("bbbbb"));
    EXPECT_THAT(with("aaaaa"), StartsWith("<|im_start|>system\nS<|im_end|>"));
}

// What is content of the prompt stays so where it is cut, so that a control token spelled in it is text.
TEST_P(FamilyTemplate, SpansEndWithThePrompt) {
    const ChatRequest request = conversation("[" + kUser + ", " + kText + "]");
    const RenderedPrompt cut = cut_at_start(template_->render(chat_input(request)), request);
    ASSERT_FALSE(cut.content_spans.empty());
    EXPECT_EQ(cut.content_spans.back().end, cut.text.size());
    EXPECT_EQ(cut.text.substr(cut.content_spans.back().begin), "The answer is");
}

// Other templates take the same conversations, whatever they make of them.
TEST(OtherTemplates, TakeConversations) {
    const std::string names[] = {"Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B", "Qwen3-Coder",
                                 "meta-llama-Llama-3.1-8B-Instruct"};
    int rendered = 0;
    for (const std::string& name : names) {
        const std::optional<ChatTemplate> chat_template =
            template_file(shared_folder() + "/templates/" + name + ".jinja");
        if (!chat_template) continue;
        ++rendered;
        for (const std::string& messages :
             {"[" + kUser + ", " + kCall + ", " + kResult + "]", "[" + kCall + ", " + kResult + "]",
              "[{\"role\": \"developer\", \"content\": \"S\"}, " + kUser + R"(, {"role": "system", "content": "N"}])",
              "[" + kUser + ", " + kText + "]", "[{\"role\": \"user\"}, {\"role\": \"assistant\"}, " + kUser + "]"}) {
            SCOPED_TRACE(name + " " + messages);
            const ChatRequest request = conversation(messages);
            ChatInput input = chat_input(request);
            input.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
            EXPECT_NO_THROW(cut_at_start(chat_template->render(input), request));
        }
    }
    if (rendered == 0) GTEST_SKIP() << "no templates in " << shared_folder();
}

TEST(ChatPrompt, ATemplateThatLeavesOutTheEndIsNoReasonToGoOnElsewhere) {
    const ChatTemplate silent("{{ messages[0].content }}");
    expect_refused("continue_final_message", "leaves out the end",
                   [&] { prompt_of(silent, conversation("[" + kUser + ", " + kText + "]")); });
}

TEST(ChatPrompt, IsMadeWithTheCheckpointsTemplate) {
    const ModelText nano(COLUGO_SOURCE_DIR "/models/nano");
    EXPECT_THAT(render_prompt(nano, conversation("[" + kUser + ", " + kText + "]")).text, EndsWith("The answer is"));
}

TEST(ChatPrompt, WhatTheTemplateRefusesIsTheRequestsFault) {
    const ModelText broken(COLUGO_SOURCE_DIR "/models/nano", COLUGO_SOURCE_DIR "/tests/server/refusing_template.jinja");
    expect_refused("messages", "there are no such conversations",
                   [&] { render_prompt(broken, conversation("[" + kUser + "]")); });
}

}  // namespace
}  // namespace colugo::testing
