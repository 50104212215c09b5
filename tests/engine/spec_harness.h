// Requests whose drafts are right and wrong where a test wants it, and what must hold whatever was drafted.
#pragma once

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/engine_harness.h"
#include "sampling/reply_grammar.h"

namespace colugo::testing {

// The checkpoint these tests run on: another folder shows what a trained model's drafts do.
inline std::string spec_model() {
    const char* given = std::getenv("COLUGO_SPEC_MODEL");
    return given != nullptr && *given != '\0' ? given : "tiny-bf16";
}

// A prediction of the reply to a prompt from which lookup drafts, pass after pass, as many right tokens as `accepted`
// says (over and over) and then wrong ones. It works as far as no other place of the text agrees in more.
inline std::vector<int32_t> scripted_prediction(const std::vector<int32_t>& prompt, const std::vector<int32_t>& reply,
                                                const std::vector<int>& accepted, int64_t vocab_size) {
    constexpr int kWrong = 2;
    std::vector<int32_t> prediction;
    size_t root = 0;  // in the reply, of the pass
    for (size_t pass = 0; root < reply.size(); ++pass) {
        const size_t end = std::min(reply.size(), root + 1 + static_cast<size_t>(accepted[pass % accepted.size()]));
        prediction.push_back(root > 0 ? reply[root - 1] : prompt.back());
        prediction.insert(prediction.end(), reply.begin() + static_cast<std::ptrdiff_t>(root),
                          reply.begin() + static_cast<std::ptrdiff_t>(end));
        const int32_t right = end < reply.size() ? reply[end] : 0;
        for (int wrong = 1; wrong <= kWrong; ++wrong) {
            prediction.push_back(static_cast<int32_t>((right + wrong) % vocab_size));
        }
        root = end;
    }
    return prediction;
}

// A vocabulary for the fixtures, which have none, to hold replies to forms with: bytes, some words, and control tokens
// that end thoughts, open and close calls, and end replies.
inline constexpr int32_t kEndOfThought = 508, kOpenCall = 509, kCloseCall = 510, kEndOfReply = 511;
inline constexpr std::string_view kWords[] = {"{\"", "\": ", "\":", ", \"", "name", "rue", "false", "12", "ab", "\"}"};
inline constexpr std::string_view kControls[] = {"<.>", "<+>", "<->", "<end>"};

inline std::string_view form_bytes(int32_t token) {
    static const std::string bytes = [] {
        std::string all;
        for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
        return all;
    }();
    const auto id = static_cast<size_t>(token);
    if (id < bytes.size()) return std::string_view(bytes).substr(id, 1);
    if (token >= kEndOfThought) return kControls[token - kEndOfThought];
    return id - bytes.size() < std::size(kWords) ? kWords[id - bytes.size()] : std::string_view();
}

inline std::shared_ptr<TokenGrammar> form_of(ByteGrammar grammar, int64_t vocab_size) {
    auto vocabulary = std::make_shared<GrammarVocabulary>(vocab_size, [](int32_t id) -> VocabularyToken {
        return {.bytes = form_bytes(id), .control = id >= kEndOfThought};
    });
    return std::make_shared<TokenGrammar>(std::make_shared<ByteGrammar>(std::move(grammar)), std::move(vocabulary),
                                          std::span(&kEndOfReply, 1));
}

// Drafts of some requests, and what became of them.
struct DraftTally {
    int64_t drafted = 0;
    int64_t accepted = 0;
    void add(const RequestResult& result) {
        drafted += result.drafts.all.drafted;
        accepted += result.drafts.all.accepted;
    }
    int64_t rejected() const { return drafted - accepted; }
};

// What was given is what plain decoding gives, and nothing behind its end was fed or counted.
inline void expect_plain(ColdRuns& plain_runs, const Request& request, const Recorder& heard, const std::string& what) {
    plain_runs.expect_same(request, heard, what);
    const RequestResult &result = heard.result(), &plain = plain_runs.of(request).result();
    EXPECT_EQ(result.generated_tokens, plain.generated_tokens) << what;
    EXPECT_EQ(result.cached_tokens + result.fed_tokens, plain.fed_tokens) << what;
    EXPECT_EQ(result.decoded_tokens(), plain.decode_passes) << what;
    EXPECT_LE(result.drafts.all.accepted, result.drafts.all.drafted) << what;
}

// Ways to draw, of every kind the sampler knows. Under the hottest one noise outweighs the logits, so that the head of
// a model without any training is right at times.
struct DrawnBy {
    const char* name;
    SamplingParams params;
};
inline std::vector<DrawnBy> ways_to_draw() {
    const std::vector<LogitBias> bias = {{3, 2.5f}, {70, -100.0f}, {101, 4.0f}, {255, 1.0f}, {300, 3.0f}};
    std::vector<DrawnBy> ways = {
        {"greedy", {}},
        {"0.3, top-k", {.temperature = 0.3, .top_k = 20, .logit_bias = {}}},
        {"0.7, top-p", {.temperature = 0.7, .top_p = 0.9, .logit_bias = {}}},
        {"1.0", {.temperature = 1.0, .logit_bias = {}}},
        {"1.0, min-p", {.temperature = 1.0, .min_p = 0.05, .logit_bias = {}}},
        {"1.5, all filters", {.temperature = 1.5, .top_k = 40, .top_p = 0.8, .min_p = 0.01, .logit_bias = {}}},
        {"50", {.temperature = 50.0, .logit_bias = {}}},
        {"greedy, repetition", {.repetition_penalty = 1.3, .logit_bias = {}}},
        {"greedy, presence and frequency", {.presence_penalty = 1.5, .frequency_penalty = 0.5, .logit_bias = {}}},
        {"0.7, all penalties",
         {.temperature = 0.7,
          .repetition_penalty = 1.1,
          .presence_penalty = 0.4,
          .frequency_penalty = 0.2,
          .logit_bias = {}}},
        {"greedy, bias", {.logit_bias = bias}},
        {"1.0, bias", {.temperature = 1.0, .logit_bias = bias}},
    };
    for (size_t i = 0; i < ways.size(); ++i) ways[i].params.seed = 40 + i;
    return ways;
}

}  // namespace colugo::testing
