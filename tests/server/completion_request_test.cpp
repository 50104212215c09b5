#include "server/completion_request.h"

#include <gtest/gtest.h>

#include "server/request_harness.h"

namespace colugo::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void expect_refused_completion(const std::string& fields, const std::string& param, const std::string& words) {
    SCOPED_TRACE(fields);
    expect_refused(param, words, [&] { completion(fields); });
}

TEST(CompletionRequest, TakesOneTextOrOneListOfIds) {
    EXPECT_EQ(completion().prompt, "Hi");
    EXPECT_EQ(completion(R"({"prompt": ["a \ud83d"]})").prompt, "a \uFFFD");
    EXPECT_THAT(completion(R"({"prompt": [0, 5.0, 999]})").prompt_ids, ElementsAre(0, 5, 999));
    EXPECT_THAT(completion(R"({"prompt": [[7]]})").prompt_ids, ElementsAre(7));
    EXPECT_THAT(completion(R"({"prompt": [7]})").prompt_ids, ElementsAre(7));
    EXPECT_EQ(completion(R"({"prompt": [7]})").prompt, "");
    for (const char* prompt : {"null", "\"\"", "[]", "[\"\"]", "[[]]", "[\"a\", \"b\"]", "[[1], [2]]", "{}", "true"}) {
        expect_refused_completion("{\"prompt\": " + std::string(prompt) + "}", "prompt", "one text, or one list");
    }
    for (const char* prompt : {"[1, 1000]", "[1, -1]", "[1, 0.5]", "[1, \"x\"]", "[1, null]"}) {
        expect_refused_completion("{\"prompt\": " + std::string(prompt) + "}", "prompt",
                                  "expected a token id from 0 to 999");
    }
}

TEST(CompletionRequest, SharesTheFieldsOfGeneration) {
    const CompletionRequest request = completion(
        R"({"temperature": 0, "seed": 3, "max_tokens": 9, "stop": "x", "stream": true, "logprobs": 5, "odd": 1,
            "stream_options": {"include_usage": true}, "response_format": {"type": "json_object"}, "priority": 2})");
    EXPECT_EQ(request.generation.sampling.temperature, 0.0);
    EXPECT_EQ(request.generation.sampling.top_k, 20);
    EXPECT_EQ(request.generation.seed, 3u);
    EXPECT_EQ(request.generation.max_tokens, 9);
    EXPECT_THAT(request.generation.stop, ElementsAre("x"));
    EXPECT_TRUE(request.generation.stream);
    EXPECT_TRUE(request.generation.include_usage);
    EXPECT_EQ(request.generation.top_logprobs, 5);
    EXPECT_EQ(request.generation.response_format.kind, ResponseFormat::Kind::json_object);
    EXPECT_EQ(request.generation.priority, 2);
    EXPECT_THAT(request.unknown_fields, ElementsAre("odd"));
}

TEST(CompletionRequest, LogprobsIsANumber) {
    EXPECT_EQ(completion().generation.top_logprobs, -1);
    EXPECT_EQ(completion(R"({"logprobs": null})").generation.top_logprobs, -1);
    EXPECT_EQ(completion(R"({"logprobs": false})").generation.top_logprobs, -1);
    EXPECT_EQ(completion(R"({"logprobs": 0})").generation.top_logprobs, 0);
    expect_refused_completion(R"({"logprobs": true})", "logprobs", "from 0 to 20");
    expect_refused_completion(R"({"logprobs": 21})", "logprobs", "from 0 to 20");
}

TEST(CompletionRequest, RefusesWhatBelongsToConversations) {
    for (const char* name : {"messages", "tools", "tool_choice", "chat_template_kwargs", "top_logprobs"}) {
        expect_refused_completion("{\"" + std::string(name) + "\": [1]}", name, "/v1/chat/completions");
        EXPECT_THAT(completion("{\"" + std::string(name) + "\": null}").unknown_fields, IsEmpty());
    }
}

}  // namespace
}  // namespace colugo::testing
