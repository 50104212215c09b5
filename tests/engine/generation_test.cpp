#include "engine/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/expect_error.h"

namespace colugo {
namespace {

struct Output {
    GenerationResult result;
    std::vector<int32_t> tokens;
    std::vector<float> logits;  // [positions, vocab_size]
};

std::vector<int32_t> prompt_of(int length) {
    std::vector<int32_t> prompt;
    for (int i = 0; i < length; ++i) prompt.push_back(i * 37 % 479);
    return prompt;
}

LaunchOptions launch(int max_rows = 512, int threads = 2, int64_t ctx_size = 256) {
    LaunchOptions options;
    options.model = std::string(COLUGO_FIXTURES_DIR) + "/tiny-bf16";
    options.threads = threads;
    options.ctx_size = ctx_size;
    options.max_rows = max_rows;
    return options;
}

Output generate(LoadedModel& model, const GenerationRequest& request) {
    Output output;
    Generator generator(model, TokenMask(model.config().vocab_size, true));
    GenerationCallbacks callbacks;
    callbacks.token = [&](int32_t token) {
        output.tokens.push_back(token);
        return true;
    };
    callbacks.logits = [&](int64_t first_position, TensorView rows) {
        EXPECT_EQ(first_position * rows.cols, static_cast<int64_t>(output.logits.size()));
        output.logits.insert(output.logits.end(), rows.f32(), rows.f32() + rows.rows * rows.cols);
    };
    output.result = generator.run(request, callbacks);
    EXPECT_EQ(model.pages().granted(), 0);
    return output;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Generation, IsTheSameForEveryChunkingAndThreadCount) {
    const std::vector<int32_t> prompt = prompt_of(70);
    for (const double temperature : {0.0, 1.0}) {
        GenerationRequest request{.prompt = prompt, .max_tokens = 12, .sampling = {}, .stop_ids = {}};
        request.sampling.temperature = temperature;
        request.sampling.seed = 4;
        LoadedModel model(launch());
        const Output whole = generate(model, request);
        EXPECT_EQ(whole.tokens.size(), 12u);
        EXPECT_EQ(whole.logits.size(), (70 + 11) * 512u);
        for (const int max_rows : {1, 3, 32, 33}) {
            LoadedModel other(launch(max_rows, 1));
            const Output parts = generate(other, request);
            EXPECT_EQ(parts.tokens, whole.tokens) << max_rows;
            EXPECT_TRUE(same_bits(parts.logits, whole.logits)) << max_rows;
        }
    }
}

TEST(Generation, ATokenIsDrawnFromTheSameLogitsWithAndWithoutTheirCallback) {
    LoadedModel model(launch());
    const std::vector<int32_t> prompt = prompt_of(40);
    const GenerationRequest request{.prompt = prompt, .max_tokens = 9, .sampling = {}, .stop_ids = {}};
    const Output expected = generate(model, request);
    std::vector<int32_t> tokens;
    GenerationCallbacks callbacks;
    callbacks.token = [&](int32_t token) {
        tokens.push_back(token);
        return true;
    };
    Generator generator(model, TokenMask(512, true));
    generator.run(request, callbacks);
    EXPECT_EQ(tokens, expected.tokens);
    tokens.clear();
    generator.run(request, callbacks);  // nothing is left over from the first time
    EXPECT_EQ(tokens, expected.tokens);
}

TEST(Generation, EndsAtAStop) {
    LoadedModel model(launch());
    const std::vector<int32_t> prompt = prompt_of(20);
    GenerationRequest request{.prompt = prompt, .max_tokens = 20, .sampling = {}, .stop_ids = {}};
    const Output free = generate(model, request);
    EXPECT_EQ(free.result.finish, FinishReason::length);
    EXPECT_EQ(free.result.generated_tokens, 20);
    EXPECT_EQ(free.result.decode_passes, 19);

    const std::vector<int32_t> stops = {free.tokens[5]};
    request.stop_ids = stops;
    const Output stopped = generate(model, request);
    const auto first = std::find(free.tokens.begin(), free.tokens.end(), stops[0]) - free.tokens.begin();
    EXPECT_EQ(stopped.result.finish, FinishReason::stop);
    EXPECT_EQ(stopped.result.generated_tokens, first);
    EXPECT_EQ(stopped.tokens, std::vector<int32_t>(free.tokens.begin(), free.tokens.begin() + first));
}

TEST(Generation, TokensOutsideTheMaskAreNotDrawn) {
    LoadedModel model(launch());
    const std::vector<int32_t> prompt = prompt_of(20);
    const GenerationRequest request{.prompt = prompt, .max_tokens = 1, .sampling = {}, .stop_ids = {}};
    const Output free = generate(model, request);
    TokenMask mask(512, true);
    mask.set(free.tokens[0], false);
    int32_t drawn = -1;
    Generator(model, mask)
        .run(request, {.prefilled = {},
                       .token =
                           [&](int32_t token) {
                               drawn = token;
                               return true;
                           },
                       .logits = {}});
    EXPECT_NE(drawn, -1);
    EXPECT_NE(drawn, free.tokens[0]);
}

TEST(Generation, EndsWithTheContext) {
    LoadedModel model(launch(512, 2, 50));
    const std::vector<int32_t> prompt = prompt_of(40);
    GenerationRequest request{.prompt = prompt, .sampling = {}, .stop_ids = {}};
    for (const int64_t max_tokens : {-1, 11, 1000}) {
        request.max_tokens = max_tokens;
        const Output limited = generate(model, request);
        EXPECT_EQ(limited.result.finish, FinishReason::context);
        EXPECT_EQ(limited.result.generated_tokens, 10);
    }
    request.max_tokens = 10;
    EXPECT_EQ(generate(model, request).result.finish, FinishReason::length);
}

TEST(Generation, PromptsAreChecked) {
    LoadedModel model(launch(512, 2, 50));
    Generator generator(model, TokenMask(512, true));
    const auto attempt = [&](const std::vector<int32_t>& prompt, int64_t max_tokens) {
        return generator.run({.prompt = prompt, .max_tokens = max_tokens, .sampling = {}, .stop_ids = {}}, {});
    };
    EXPECT_ERROR(ErrorCode::invalid_argument, "the prompt is empty", attempt({}, 1));
    EXPECT_ERROR(ErrorCode::invalid_argument, "token 512", attempt({5, 512}, 1));
    EXPECT_ERROR(ErrorCode::invalid_argument, "token -1", attempt({-1}, 1));
    EXPECT_ERROR(ErrorCode::invalid_argument, "new tokens is -2", attempt({1}, -2));
    EXPECT_ERROR(ErrorCode::resource_exhausted, "51 tokens", attempt(prompt_of(51), 0));
    EXPECT_ERROR(ErrorCode::resource_exhausted, "a context of 50", attempt(prompt_of(50), 1));
    EXPECT_EQ(attempt(prompt_of(50), 0).prompt_tokens, 50);
    SamplingParams bad;
    bad.top_p = 7.0;
    const std::vector<int32_t> prompt = prompt_of(3);
    EXPECT_ERROR(ErrorCode::invalid_argument, "top_p is 7",
                 generator.run({.prompt = prompt, .max_tokens = 1, .sampling = bad, .stop_ids = {}}, {}));
    EXPECT_EQ(model.pages().granted(), 0);
}

TEST(Generation, CanBeCancelledAnywhere) {
    LoadedModel model(launch(8));
    Generator generator(model, TokenMask(512, true));
    const std::vector<int32_t> prompt = prompt_of(30);
    const GenerationRequest request{.prompt = prompt, .max_tokens = 20, .sampling = {}, .stop_ids = {}};
    std::vector<int64_t> steps;
    GenerationCallbacks in_prefill;
    in_prefill.prefilled = [&](int64_t done, int64_t total) {
        EXPECT_EQ(total, 30);
        steps.push_back(done);
        return done < 16;
    };
    const GenerationResult early = generator.run(request, in_prefill);
    EXPECT_EQ(early.finish, FinishReason::cancelled);
    EXPECT_THAT(steps, ::testing::ElementsAre(8, 16));
    EXPECT_EQ(early.prompt_tokens, 16);
    EXPECT_EQ(early.generated_tokens, 0);

    GenerationCallbacks in_decode;
    int count = 0;
    in_decode.token = [&](int32_t) { return ++count < 3; };
    const GenerationResult late = generator.run(request, in_decode);
    EXPECT_EQ(late.finish, FinishReason::cancelled);
    EXPECT_EQ(late.generated_tokens, 3);
    EXPECT_EQ(late.decode_passes, 2);
    EXPECT_EQ(model.pages().granted(), 0);
}

TEST(Generation, TimesAddUp) {
    LoadedModel model(launch());
    const std::vector<int32_t> prompt = prompt_of(50);
    const GenerationResult result =
        generate(model, {.prompt = prompt, .max_tokens = 5, .sampling = {}, .stop_ids = {}}).result;
    EXPECT_GT(result.prefill_seconds, 0.0);
    EXPECT_GE(result.ttft_seconds, result.prefill_seconds);
    EXPECT_GT(result.decode_seconds, 0.0);
    EXPECT_DOUBLE_EQ(result.prefill_tokens_per_second(), 50.0 / result.prefill_seconds);
    EXPECT_DOUBLE_EQ(result.decode_bytes_per_second(),
                     4.0 / result.decode_seconds * static_cast<double>(model.weight_bytes_per_pass()));
    EXPECT_EQ(GenerationResult{}.decode_tokens_per_second(), 0.0);
}

}  // namespace
}  // namespace colugo
