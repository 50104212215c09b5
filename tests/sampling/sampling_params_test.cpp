#include "sampling/sampling_params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.h"

namespace colugo {
namespace {

std::string refusal(const std::function<void(SamplingParams&)>& change) {
    SamplingParams params;
    change(params);
    try {
        check_sampling_params(params, 100);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return error.what();
    }
    return "accepted";
}

TEST(SamplingParams, DefaultsAndLimitsAreAccepted) {
    EXPECT_EQ(refusal([](SamplingParams&) {}), "accepted");
    EXPECT_EQ(refusal([](SamplingParams& p) {
                  p.temperature = 1e-6;
                  p.top_p = 1e-9;
                  p.min_p = 1.0;
                  p.top_k = 1 << 30;
                  p.logit_bias = {{99, -100.0f}};
              }),
              "accepted");
}

TEST(SamplingParams, EveryFieldIsNamedWhenRefused) {
    using testing::HasSubstr;
    EXPECT_THAT(refusal([](SamplingParams& p) { p.temperature = -0.5; }), HasSubstr("temperature is -0.5"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.temperature = std::nan(""); }), HasSubstr("temperature"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.temperature = 1e-7; }), HasSubstr("temperature"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.top_k = -1; }), HasSubstr("top_k is -1"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.top_p = 0.0; }), HasSubstr("top_p is 0"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.top_p = 1.01; }), HasSubstr("top_p"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.min_p = 2.0; }), HasSubstr("min_p is 2"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.repetition_penalty = 0.0; }), HasSubstr("repetition_penalty"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.presence_penalty = INFINITY; }), HasSubstr("presence_penalty"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.frequency_penalty = -1e7; }), HasSubstr("frequency_penalty"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.logit_bias = {{100, 1.0f}}; }), HasSubstr("token 100"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.logit_bias = {{-1, 1.0f}}; }), HasSubstr("token -1"));
    EXPECT_THAT(refusal([](SamplingParams& p) { p.logit_bias = {{1, NAN}}; }), HasSubstr("logit_bias"));
}

}  // namespace
}  // namespace colugo
