#include "server/prompt_report.h"

#include "server/request_harness.h"

namespace colugo::testing {
namespace {

const ModelText& nano() {
    static const ModelText text(COLUGO_SOURCE_DIR "/models/nano");
    return text;
}

// Index 0 and 1 become one; 6 becomes a part of 5; behind 3 there are two results.
const std::string kConversation = R"([
    {"role": "system", "content": "FIRST"}, {"role": "system", "content": "SECOND"},
    {"role": "user", "content": "THIRD"},
    {"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "function": {"name": "bash", "arguments": "{\"command\": \"FOURTH\"}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "FIFTH"},
    {"role": "user", "content": "<tool_response>SIXTH</tool_response>"},
    {"role": "system", "content": "SEVENTH"},
    {"role": "assistant", "content": "EIGHTH", "reasoning_content": "THOUGHT"},
    {"role": "user", "content": "NINTH"}])";

// The token of the prompt that has the last byte of `words`.
int64_t token_with(const std::vector<int32_t>& tokens, const std::string& words) {
    std::string text;
    for (size_t i = 0; i < tokens.size(); ++i) {
        text += nano().tokenizer().token_bytes(tokens[i]);
        if (text.find(words) != std::string::npos) return static_cast<int64_t>(i);
    }
    ADD_FAILURE() << words << " is not in " << text;
    return 0;
}

TEST(PromptReport, NamesTheMessageByItsPlaceInTheRequest) {
    const PromptReport report(nano(), conversation(kConversation, R"({"tools": [
        {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]})"));
    const std::vector<int32_t> tokens = report.prefix().tokens;
    const auto message_with = [&](const std::string& words) { return report.message_at(token_with(tokens, words)); };
    EXPECT_EQ(report.message_at(0), std::nullopt);
    EXPECT_EQ(message_with("\"bash\""), std::nullopt);  // a tool's
    const std::pair<const char*, size_t> kExpected[] = {{"FIRST", 0},   {"SECOND", 0}, {"THIRD", 2},
                                                        {"FOURTH", 3},  {"FIFTH", 4},  {"SIXTH", 5},
                                                        {"SEVENTH", 5}, {"EIGHTH", 7}, {"NINTH", 8}};
    for (const auto& [words, index] : kExpected) EXPECT_EQ(message_with(words), index) << words;
    EXPECT_EQ(report.message_at(std::ssize(tokens) - 1), 8u);
}

TEST(PromptReport, WhatTheServerPutsThereIsNoMessageOfTheRequest) {
    const PromptReport report(nano(), conversation(R"([{"role": "assistant", "tool_calls": [
        {"id": "a", "function": {"name": "bash", "arguments": "{}"}}]}, {"role": "tool", "content": "FIFTH"}])"));
    const std::vector<int32_t> tokens = report.prefix().tokens;
    EXPECT_EQ(report.message_at(token_with(tokens, "user\n")), std::nullopt);
    EXPECT_EQ(report.message_at(token_with(tokens, "bash")), 0u);
    EXPECT_EQ(report.message_at(token_with(tokens, "FIFTH")), 1u);
}

TEST(PromptReport, TellsWhatIsCachedAndWhatStandsWhereItEnds) {
    const PromptReport report(nano(), conversation(R"([{"role": "user", "content": "Today is 2026-11-30."}])",
                                                   R"({"prompt_cache_key": "k"})"));
    EXPECT_EQ(report.prefix().scope, chat(R"({"prompt_cache_key": "k"})").generation.cache_scope);
    const std::vector<int32_t> tokens = report.prefix().tokens;
    const int64_t place = token_with(tokens, "-3");
    const ordered_json body = report.body({.cached_len = 3, .matched_len = place});
    EXPECT_EQ(body["count"], tokens.size());
    EXPECT_EQ(body["cached_tokens"], 3);
    EXPECT_EQ(body["matched_tokens"], place);
    EXPECT_EQ(body["divergence"]["token"], place);
    EXPECT_EQ(body["divergence"]["message"], 0);
    EXPECT_EQ(body["divergence"]["looks_like"], "a date");
    const std::string prompt = body["prompt"], text = body["divergence"]["text"];
    EXPECT_EQ(prompt.substr(body["divergence"]["byte"], text.size()), text);
    EXPECT_TRUE(report.body({})["divergence"].is_null());
    EXPECT_TRUE(report.body({.cached_len = 3, .matched_len = std::ssize(tokens)})["divergence"].is_null());
}

}  // namespace
}  // namespace colugo::testing
