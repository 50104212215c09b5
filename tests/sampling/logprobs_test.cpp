#include "sampling/logprobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"

namespace colugo {
namespace {

TEST(Logprobs, AreTheLogSoftmaxWithoutPadding) {
    const std::vector<float> logits = {1.0f, -2.0f, 0.5f, 1.0f, 80.0f};
    TokenMask tokens(5, true);
    tokens.set(4, false);  // padding, however likely
    const double sum = std::exp(1.0) * 2 + std::exp(-2.0) + std::exp(0.5);
    const double log_sum = log_sum_exp(logits, tokens);
    EXPECT_NEAR(log_sum, std::log(sum), 1e-14);
    EXPECT_NEAR(token_logprob(logits, log_sum, 1), -2.0 - std::log(sum), 1e-6);

    std::vector<TokenLogprob> top(3);
    ASSERT_EQ(top_logprobs(top, logits, log_sum, tokens), 3u);
    EXPECT_EQ(top[0].token, 0);  // the lower id of two equal ones
    EXPECT_EQ(top[1].token, 3);
    EXPECT_EQ(top[2].token, 2);
    EXPECT_EQ(top[0].logprob, top[1].logprob);

    std::vector<TokenLogprob> more(7);
    EXPECT_EQ(top_logprobs(more, logits, log_sum, tokens), 4u);
    EXPECT_EQ(more[3].token, 1);
    EXPECT_EQ(top_logprobs({}, logits, log_sum, tokens), 0u);
}

TEST(Logprobs, LargeLogitsDoNotOverflow) {
    const std::vector<float> logits = {3e38f, 2.9e38f};
    const TokenMask tokens(2, true);
    EXPECT_EQ(token_logprob(logits, log_sum_exp(logits, tokens), 0), 0.0f);
}

TEST(Logprobs, RefusesLogitsThatAreNotFinite) {
    EXPECT_THROW(log_sum_exp(std::vector<float>{0.0f, NAN}, TokenMask(2, true)), Error);
    TokenMask tokens(2, true);
    tokens.set(1, false);
    EXPECT_NO_THROW(log_sum_exp(std::vector<float>{0.0f, NAN}, tokens));
}

}  // namespace
}  // namespace colugo
