// Sixteen conversations with words of their own over one small cache: 2,000 random turns, cancels, edits and evictions,
// most of them with drafts. Every reply is that of a cold run, which has seen no other conversation, so no word can
// have crossed; and memory stays within the budget.
#include <gtest/gtest.h>

#include <random>

#include "engine/spec_harness.h"
#include "support/resident_bytes.h"

namespace colugo::testing {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int kConversations = 16;
constexpr int kTurns = 2000;

class Isolation {
 public:
    Isolation()
        : harness_({.parallel = 6,
                    .max_rows = 48,
                    .ctx_size = 320,
                    .cached_sequences = 7.0,
                    .with_mtp = true,
                    .spec = {.mode = SpecMode::automatic}}) {
        for (uint64_t i = 0; i < kConversations; ++i) conversations_.push_back(opening(i));
    }

    void run() {
        uint64_t before = 0;
        while (turns_ < kTurns) {
            round();
            ASSERT_EQ(harness_.engine().fault(), "");
            if (turns_ > 200 && before == 0) before = resident_bytes();
        }
        const EngineMetrics metrics = harness_.engine().metrics();
        EXPECT_GT(metrics.cache.evictions, 200);
        EXPECT_GT(metrics.cache.hits, 500);
        EXPECT_GT(cancelled_, 100);
        EXPECT_GT(drafts_.accepted, 500);
        EXPECT_GT(drafts_.rejected(), 500);
        EXPECT_LE(metrics.used_bytes, metrics.cache_bytes);
        if (kResidentBytesCount) {
            constexpr uint64_t kHugePages = 4 * (uint64_t{2} << 20);  // the kernel makes some when it likes
            EXPECT_LE(resident_bytes(), before + kHugePages);
        }
    }

 private:
    size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

    // A begin that all have in common, and a secret of 24 tokens.
    static Tokens opening(uint64_t index) { return joined(tokens_of(50, 3), tokens_of(24, 1000 + index)); }

    // Some conversations at once: each says something more, or goes back, or begins again.
    void round() {
        std::vector<std::pair<size_t, Request>> asked;
        std::vector<EngineHarness::Submitted> submitted;
        for (size_t i = 0; i < conversations_.size(); ++i) {
            if (below(3) > 0) continue;
            Tokens& tokens = conversations_[i];
            if (tokens.size() > 250 || below(12) == 0) tokens = opening(i);
            if (below(6) == 0) tokens.resize(tokens.size() - below(tokens.size() - 74 + 1));
            tokens = joined(tokens, tokens_of(static_cast<int>(1 + below(20)), random_()));
            Request request = request_of(tokens, static_cast<int64_t>(1 + below(12)), below(2) ? 0.0 : 1.0);
            request.spec = SpecParams{.mode = static_cast<SpecMode>(below(5))};
            request.prediction = scripted_prediction(tokens, cold_runs_.of(request).tokens(),
                                                     {static_cast<int>(below(6)), static_cast<int>(below(6))}, 512);
            asked.emplace_back(i, request);
            submitted.push_back(harness_.submit(request));
        }
        for (size_t steps = below(12); steps > 0; --steps) harness_.engine().step();
        for (const EngineHarness::Submitted& one : submitted) {
            if (below(8) == 0) harness_.engine().cancel(one.id);
        }
        while (harness_.engine().step()) {
        }
        for (size_t i = 0; i < asked.size(); ++i) check(asked[i].first, asked[i].second, *submitted[i].heard);
        cold_runs_.forget();
    }

    void check(size_t conversation, const Request& request, const Recorder& heard) {
        ++turns_;
        ASSERT_TRUE(heard.done());
        if (heard.result().finish == FinishReason::cancelled) {
            ++cancelled_;
            return;
        }
        cold_runs_.expect_same(request, heard, "turn " + std::to_string(turns_));
        drafts_.add(heard.result());
        conversations_[conversation] = joined(request.prompt, heard.tokens());
    }

    EngineHarness harness_;
    ColdRuns cold_runs_;
    std::vector<Tokens> conversations_;
    std::mt19937_64 random_{17};
    int turns_ = 0;
    int cancelled_ = 0;
    DraftTally drafts_;
};

TEST(Isolation, NothingCrossesFromOneConversationToAnother) {
    Isolation().run();
}

}  // namespace
}  // namespace colugo::testing
