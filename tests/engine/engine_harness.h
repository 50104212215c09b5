// An engine over a fixture checkpoint, driven step by step, and what cold single runs give for the same requests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace colugo::testing {

// Keeps all a request hears.
class Recorder : public RequestListener {
 public:
    void prefilled(int64_t done, int64_t total) override { prefilled_.emplace_back(done, total); }
    void logits(int64_t first_position, TensorView rows) override {
        if (logits_.empty()) first_position_ = first_position;
        logits_.insert(logits_.end(), rows.f32(), rows.f32() + rows.rows * rows.cols);
    }
    void token(const DrawnToken& drawn) override {
        tokens_.push_back(drawn.token);
        held_.push_back(drawn.held_bytes);
        logprobs_.push_back({{drawn.token, drawn.logprob}});
        logprobs_.back().insert(logprobs_.back().end(), drawn.top_logprobs.begin(), drawn.top_logprobs.end());
    }
    void finished(const RequestResult& result) override {
        EXPECT_FALSE(result_) << "finished twice";
        result_ = result;
    }

    const std::vector<std::pair<int64_t, int64_t>>& progress() const { return prefilled_; }
    const std::vector<int32_t>& tokens() const { return tokens_; }
    // Behind each token.
    const std::vector<int64_t>& held() const { return held_; }
    // Of each token: its own, then the likeliest ones.
    const std::vector<std::vector<TokenLogprob>>& logprobs() const { return logprobs_; }
    // [positions from first_position() on, vocab_size]
    const std::vector<float>& logits() const { return logits_; }
    int64_t first_position() const { return first_position_; }
    bool done() const { return result_.has_value(); }
    const RequestResult& result() const { return *result_; }

 private:
    std::vector<std::pair<int64_t, int64_t>> prefilled_;
    std::vector<int32_t> tokens_;
    std::vector<int64_t> held_;
    std::vector<std::vector<TokenLogprob>> logprobs_;
    std::vector<float> logits_;
    int64_t first_position_ = 0;
    std::optional<RequestResult> result_;
};

// The fixtures have no tokenizer: a token is one to four letters of few, so that strings turn up in the text.
inline std::string_view letters_of(int32_t token) {
    constexpr std::string_view kLetters = "abcabbacaabcccabbbacab";
    const auto number = static_cast<size_t>(token);
    return kLetters.substr(number * 7 % 18, 1 + number % 4);
}

inline std::string text_of(std::span<const int32_t> tokens) {
    std::string text;
    for (const int32_t token : tokens) text += letters_of(token);
    return text;
}

struct EngineOptions {
    std::string fixture = "tiny-bf16";  // or the path of a checkpoint's folder
    int parallel = 8;
    int max_rows = 64;
    int threads = 2;
    int64_t ctx_size = 512;
    double cached_sequences = 24.0;  // the budget, in sequences of ctx_size
    bool with_mtp = false;
    std::string cache_disk = {};
    uint64_t cache_disk_bytes = uint64_t{1} << 30;
    double cache_disk_seconds = 60.0;
    SpecParams spec = {};
    std::optional<PassCost> pass_cost = {};
};

inline LaunchOptions launch_options(const EngineOptions& options) {
    LaunchOptions launch;
    launch.model = (std::filesystem::path(COLUGO_FIXTURES_DIR) / options.fixture).string();
    launch.threads = options.threads;
    launch.ctx_size = options.ctx_size;
    launch.parallel = options.parallel;
    launch.max_rows = options.max_rows;
    launch.with_mtp = options.with_mtp;
    launch.spec = options.spec;
    return launch;
}

class EngineHarness {
 public:
    explicit EngineHarness(const EngineOptions& options = {}) {
        LaunchOptions launch = launch_options(options);
        const StateFormat format = LoadedModel(launch).plan().format;
        launch.cache_bytes =
            format.fixed_bytes() + static_cast<uint64_t>(options.cached_sequences *
                                                         static_cast<double>(format.sequence_bytes(options.ctx_size)));
        model_ = std::make_unique<LoadedModel>(launch);
        Engine::Options engine_options;
        engine_options.cache_disk = options.cache_disk;
        engine_options.cache_disk_bytes = options.cache_disk_bytes;
        engine_options.cache_disk_seconds = options.cache_disk_seconds;
        engine_options.pass_cost = options.pass_cost;
        engine_options.token_bytes = letters_of;
        engine_options.log = [this](std::string sentence) { log.push_back(std::move(sentence)); };
        engine_ = std::make_unique<Engine>(*model_, TokenMask(model_->config().vocab_size, true), engine_options);
    }

    std::vector<std::string> log;  // what the engine had to say about its disk

    Engine& engine() { return *engine_; }
    const LoadedModel& model() const { return *model_; }
    int64_t vocab_size() const { return model_->config().vocab_size; }

    struct Submitted {
        RequestId id;
        std::shared_ptr<Recorder> heard;
    };
    Submitted submit(Request request) {
        request.wants_logits = true;
        auto heard = std::make_shared<Recorder>();
        return {engine_->submit(std::move(request), heard), heard};
    }
    void step() {
        engine_->step();
        ASSERT_EQ(engine_->fault(), "");
    }
    // Until nothing runs or waits.
    void finish() {
        while (engine_->step()) ASSERT_EQ(engine_->fault(), "");
    }
    std::shared_ptr<Recorder> run(Request request) {
        const Submitted submitted = submit(std::move(request));
        finish();
        EXPECT_TRUE(submitted.heard->done());
        return submitted.heard;
    }

 private:
    std::unique_ptr<LoadedModel> model_;
    std::unique_ptr<Engine> engine_;
};

// What a request gives that runs alone on an engine nothing ran on before, one thread, the prompt in one pass.
class ColdRuns {
 public:
    explicit ColdRuns(std::string fixture = "tiny-bf16", bool with_mtp = false, int64_t ctx_size = 512) {
        options_.fixture = std::move(fixture);
        options_.with_mtp = with_mtp;
        options_.ctx_size = ctx_size;
        options_.parallel = 1;
        options_.threads = 1;
        options_.max_rows = 512;
        options_.cached_sequences = 1.0;
        LaunchOptions launch = launch_options(options_);
        model_ = std::make_unique<LoadedModel>(launch);
    }

    int64_t vocab_size() const { return model_->config().vocab_size; }

    // Valid until forget().
    const Recorder& of(const Request& request) {
        const auto known = std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) {
            return run.request.prompt == request.prompt && run.request.max_tokens == request.max_tokens &&
                   run.request.sampling == request.sampling && run.request.stop_ids == request.stop_ids &&
                   run.request.stop_strings == request.stop_strings &&
                   run.request.top_logprobs == request.top_logprobs && run.request.grammar == request.grammar;
        });
        if (known != runs_.end()) return *known->heard;
        Run run{.request = {.prompt = request.prompt,
                            .max_tokens = request.max_tokens,
                            .sampling = request.sampling,
                            .stop_ids = request.stop_ids,
                            .stop_strings = request.stop_strings,
                            .top_logprobs = request.top_logprobs,
                            .grammar = request.grammar,
                            .wants_logits = true},
                .heard = std::make_shared<Recorder>()};
        Engine::Options options;
        options.token_bytes = letters_of;
        Engine engine(*model_, TokenMask(model_->config().vocab_size, true), options);
        engine.submit(run.request, run.heard);
        while (engine.step()) {
        }
        EXPECT_EQ(run.heard->result().cached_tokens, 0);
        runs_.push_back(std::move(run));
        return *runs_.back().heard;
    }

    void forget() { runs_.clear(); }

    // Tokens and all that is said of them equal, and every logit the engine computed has the bits of the cold run's.
    void expect_same(const Request& request, const Recorder& heard, const std::string& what) {
        const Recorder& cold = of(request);
        EXPECT_EQ(heard.tokens(), cold.tokens()) << what;
        EXPECT_EQ(heard.result().finish, cold.result().finish) << what;
        EXPECT_EQ(heard.result().cut_bytes, cold.result().cut_bytes) << what;
        EXPECT_EQ(heard.held(), cold.held()) << what;
        const auto same = [](const TokenLogprob& a, const TokenLogprob& b) {
            return a.token == b.token && a.logprob == b.logprob;
        };
        EXPECT_TRUE(std::ranges::equal(heard.logprobs(), cold.logprobs(), [&](const auto& a, const auto& b) {
            return std::ranges::equal(a, b, same);
        })) << what;
        const auto vocab = static_cast<size_t>(model_->config().vocab_size);
        const size_t skipped = static_cast<size_t>(heard.first_position()) * vocab;
        size_t count = heard.logits().size();
        if (request.grammar) {
            // An end that is no choice needs no pass, and where it was drafted too it is drawn in one.
            count = std::min(count, cold.logits().size() - skipped);
        } else {
            ASSERT_EQ(skipped + count, cold.logits().size()) << what;
        }
        EXPECT_EQ(std::memcmp(heard.logits().data(), cold.logits().data() + skipped, count * sizeof(float)), 0) << what;
    }

 private:
    struct Run {
        Request request;  // all that counts of it
        std::shared_ptr<Recorder> heard;
    };
    EngineOptions options_;
    std::unique_ptr<LoadedModel> model_;
    std::vector<Run> runs_;
};

// Tokens that differ, from a stream of their own for each seed.
inline std::vector<int32_t> tokens_of(int count, uint64_t seed, int64_t vocab_size = 512) {
    std::vector<int32_t> tokens;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < count; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        tokens.push_back(static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocab_size)));
    }
    return tokens;
}

inline std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

inline Request request_of(std::vector<int32_t> prompt, int64_t max_tokens = 6, double temperature = 0.0) {
    Request request;
    request.prompt = std::move(prompt);
    request.max_tokens = max_tokens;
    request.sampling.temperature = temperature;
    request.sampling.seed = 11;
    return request;
}

}  // namespace colugo::testing
