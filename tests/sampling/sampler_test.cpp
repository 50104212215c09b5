#include "sampling/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "base/error.h"
#include "support/allocation_counter.h"

namespace colugo {
namespace {

class SamplerTest : public testing::Test {
 protected:
    SamplerTest() : sampler_(TokenMask(6, true)), history_(6) {}

    int32_t draw(const std::vector<float>& logits) { return sampler_.draw(logits, position_, params_, history_); }
    // Every token that some position draws.
    std::set<int32_t> drawn(const std::vector<float>& logits, int draws = 3000) {
        std::set<int32_t> tokens;
        for (int64_t p = 0; p < draws; ++p) tokens.insert(sampler_.draw(logits, p, params_, history_));
        return tokens;
    }

    Sampler sampler_;
    TokenHistory history_;
    SamplingParams params_;
    int64_t position_ = 0;
};

using testing::ElementsAre;

TEST_F(SamplerTest, GreedyTakesTheLargestAndTheLowestIdAmongEquals) {
    EXPECT_EQ(draw({0, 1, 5, 5, 2, -3}), 2);
    EXPECT_EQ(draw({5, 1, 5, 5, 2, 5}), 0);
    EXPECT_EQ(draw({-9, -9, -9, -9, -9, -8}), 5);
    EXPECT_EQ(draw({-0.0f, 0.0f, -1, -1, -1, -1}), 0);
}

TEST_F(SamplerTest, PaddingAndForbiddenTokensAreNeverDrawn) {
    TokenMask tokens(6, true);
    tokens.set(5, false);
    Sampler sampler(tokens);
    const std::vector<float> logits = {0, 1, 2, 3, 4, 50};
    EXPECT_EQ(sampler.draw(logits, 0, params_, history_), 4);
    TokenMask allowed(6, true);
    allowed.set(4, false);
    EXPECT_EQ(sampler.draw(logits, 0, params_, history_, &allowed), 3);
    params_.temperature = 100.0;
    params_.logit_bias = {{5, 1000.0f}, {4, 1000.0f}};  // a bias does not bring a token back
    for (int64_t p = 0; p < 200; ++p) EXPECT_LT(sampler.draw(logits, p, params_, history_, &allowed), 4);
    TokenMask none(6, false);
    none.set(5, true);  // allowed, but no token
    EXPECT_THROW(sampler.draw(logits, 0, params_, history_, &none), Error);
}

TEST_F(SamplerTest, LogitsThatAreNotFiniteAreRefused) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
        std::vector<float> logits(6, 0.0f);
        logits[3] = bad;
        try {
            draw(logits);
            ADD_FAILURE() << bad << " was accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_file);
            EXPECT_THAT(error.what(), testing::HasSubstr("token 3"));
        }
    }
}

TEST_F(SamplerTest, BiasComesBeforePenalties) {
    params_.logit_bias = {{1, 3.0f}};
    EXPECT_EQ(draw({4, 2, 0, 0, 0, 0}), 1);
    history_.add_output(1);
    params_.repetition_penalty = 2.0;  // (2 + 3) / 2 = 2.5, not 2 / 2 + 3 = 4
    EXPECT_EQ(draw({3, 2, 0, 0, 0, 0}), 0);
}

TEST_F(SamplerTest, RepetitionPenaltyDividesPositiveAndMultipliesNegativeLogits) {
    history_.add_prompt(std::vector<int32_t>{0, 0});
    history_.add_output(1);
    params_.repetition_penalty = 1.5;
    EXPECT_EQ(draw({3, 1, 2.1f, 0, 0, 0}), 2);  // 3 / 1.5 = 2: once, however often it occurs
    EXPECT_EQ(draw({3, 1, 1.9f, 0, 0, 0}), 0);
    EXPECT_EQ(draw({-9, -2, -2.9f, -9, -9, -9}), 2);  // -2 x 1.5 = -3
    EXPECT_EQ(draw({-9, -2, -3.1f, -9, -9, -9}), 1);
}

TEST_F(SamplerTest, PresenceAndFrequencyCountOutputTokensOnly) {
    history_.add_prompt(std::vector<int32_t>{0, 0, 0});
    history_.add_output(1);
    history_.add_output(1);
    params_.presence_penalty = 1.0;
    EXPECT_EQ(draw({3.5f, 5, 0, 0, 0, 0}), 1);  // 5 - 1
    EXPECT_EQ(draw({4.5f, 5, 0, 0, 0, 0}), 0);
    params_.frequency_penalty = 0.75;
    EXPECT_EQ(draw({2.4f, 5, 0, 0, 0, 0}), 1);  // 5 - 1 - 2 x 0.75
    EXPECT_EQ(draw({2.6f, 5, 0, 0, 0, 0}), 0);
    history_.remove_output(1);
    EXPECT_EQ(draw({3.2f, 5, 0, 0, 0, 0}), 1);  // 5 - 1 - 0.75
    history_.remove_output(1);
    EXPECT_EQ(draw({4.9f, 5, 0, 0, 0, 0}), 1);
    params_.frequency_penalty = -1.0;
    history_.add_output(2);
    EXPECT_EQ(draw({4, 4, 4.5f, 0, 0, 0}), 2);
}

TEST_F(SamplerTest, TopKKeepsTheLowestIdsAmongEquals) {
    params_.temperature = 50.0;
    params_.top_k = 3;
    EXPECT_THAT(drawn({1, 2, 1, 3, 1, 1}), ElementsAre(0, 1, 3));
    params_.top_k = 1;
    EXPECT_THAT(drawn({1, 3, 1, 3, 1, 1}), ElementsAre(1));
    params_.top_k = 600;
    EXPECT_EQ(drawn({1, 3, 1, 3, 1, 1}).size(), 6u);
}

TEST_F(SamplerTest, MinPIsRelativeToTheLargestProbabilityAfterTemperature) {
    const auto log_of = [](double p) { return static_cast<float>(std::log(p)); };
    const std::vector<float> logits = {log_of(0.5), log_of(0.26), log_of(0.24), log_of(0.01), -20, -20};
    params_.temperature = 1.0;
    params_.min_p = 0.5;
    EXPECT_THAT(drawn(logits), ElementsAre(0, 1));
    params_.temperature = 2.0;  // ratios become their square roots: 0.69 and 0.14
    EXPECT_THAT(drawn(logits), ElementsAre(0, 1, 2));
    params_.min_p = 1.0;
    EXPECT_THAT(drawn({2, 2, 1, 1, 1, 2}), ElementsAre(0, 1, 5));
}

TEST_F(SamplerTest, TopPKeepsTheSmallestSetThatReachesIt) {
    const auto log_of = [](double p) { return static_cast<float>(std::log(p)); };
    const std::vector<float> logits = {log_of(0.1), log_of(0.5), log_of(0.25), log_of(0.15), -30, -30};
    params_.temperature = 1.0;
    params_.top_p = 0.49;
    EXPECT_THAT(drawn(logits), ElementsAre(1));
    params_.top_p = 0.51;
    EXPECT_THAT(drawn(logits), ElementsAre(1, 2));
    params_.top_p = 0.89;
    EXPECT_THAT(drawn(logits), ElementsAre(1, 2, 3));
    params_.top_k = 2;  // renormalised: 0.5 / 0.75 = 0.667
    params_.top_p = 0.66;
    EXPECT_THAT(drawn(logits), ElementsAre(1));
    params_.top_k = 0;
    params_.min_p = 0.4;  // leaves the same two, so the sum is the same
    EXPECT_THAT(drawn(logits), ElementsAre(1));
    params_.min_p = 0.0;
    params_.top_p = 1e-9;
    EXPECT_THAT(drawn({1, 1, 1, 1, 1, 1}), ElementsAre(0));
}

TEST_F(SamplerTest, ADrawDependsOnSeedAndPositionAlone) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0.0f, 2.0f);
    const int64_t vocab = 300;
    Sampler sampler(TokenMask(vocab, true));
    const TokenHistory history(vocab);
    params_.temperature = 0.9;
    params_.seed = 77;
    std::vector<std::vector<float>> logits(40, std::vector<float>(vocab));
    for (auto& row : logits) std::generate(row.begin(), row.end(), [&] { return normal(random); });

    std::vector<int32_t> forward;
    for (size_t p = 0; p < logits.size(); ++p) {
        forward.push_back(sampler.draw(logits[p], static_cast<int64_t>(p), params_, history));
    }
    Sampler other(TokenMask(vocab, true));
    for (size_t p = logits.size(); p-- > 0;) {  // another order, another sampler
        EXPECT_EQ(other.draw(logits[p], static_cast<int64_t>(p), params_, history), forward[p]);
    }
    int moved = 0;
    for (size_t p = 0; p < logits.size(); ++p) {
        moved += sampler.draw(logits[p], static_cast<int64_t>(p) + 1, params_, history) != forward[p];
    }
    EXPECT_GT(moved, 20);
}

// The race skips tokens by bounds, from whichever it begins with; the plain law has neither.
TEST_F(SamplerTest, TheRaceIsThePlainArgmax) {
    std::mt19937 random(6);
    std::normal_distribution<float> normal(0.0f, 4.0f);
    const int64_t vocab = 1000;
    Sampler sampler(TokenMask(vocab, true));
    const TokenHistory history(vocab);
    std::vector<float> logits(vocab);
    for (int64_t p = 0; p < 300; ++p) {
        std::generate(logits.begin(), logits.end(), [&] { return normal(random); });
        params_.temperature = 0.25 * static_cast<double>(1 + p % 12);
        params_.seed = static_cast<uint64_t>(p * p);
        const GumbelNoise noise(params_.seed, p);
        int32_t best = 0;
        const auto score = [&](int32_t t) {
            return static_cast<double>(logits[static_cast<size_t>(t)]) / params_.temperature + noise(t);
        };
        for (int32_t t = 1; t < vocab; ++t) {
            if (score(t) > score(best)) best = t;
        }
        params_.top_k = 0;
        EXPECT_EQ(sampler.draw(logits, p, params_, history), best);
        params_.top_k = static_cast<int32_t>(vocab);  // by way of the candidates
        EXPECT_EQ(sampler.draw(logits, p, params_, history), best);
    }
}

TEST_F(SamplerTest, TakesNothingFromTheHeap) {
    const int64_t vocab = 5000;
    Sampler sampler(TokenMask(vocab, true));
    TokenHistory history(vocab);
    std::vector<float> logits(vocab);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * 7919 % 1000) * 0.01f;
    const TokenMask allowed(vocab, true);
    const size_t before = allocation_count();
    for (int64_t p = 0; p < 20; ++p) {
        params_.temperature = p % 2 == 0 ? 0.0 : 1.0;
        params_.top_k = p % 3 == 0 ? 40 : 0;
        params_.top_p = p % 5 == 0 ? 0.9 : 1.0;
        params_.min_p = p % 7 == 0 ? 0.01 : 0.0;
        params_.repetition_penalty = 1.1;
        history.add_output(sampler.draw(logits, p, params_, history, &allowed));
    }
    EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace colugo
