#include "sampling/sampling_params.h"

#include <cmath>

#include "base/error.h"

namespace colugo {

namespace {

void require(bool accepted, const char* field, double value, const char* expected) {
    if (!accepted) fail(ErrorCode::invalid_argument, "{} is {}; expected {}", field, value, expected);
}

}  // namespace

void check_sampling_params(const SamplingParams& params, int64_t vocab_size) {
    const double t = params.temperature;
    require(t == 0.0 || (t >= 1e-6 && t <= 1e6), "temperature", t, "0 (greedy) or a number from 1e-6 to 1e6");
    require(params.top_k >= 0, "top_k", params.top_k, "a whole number of at least 0 (0 turns it off)");
    require(params.top_p > 0.0 && params.top_p <= 1.0, "top_p", params.top_p, "a number above 0 and at most 1");
    require(params.min_p >= 0.0 && params.min_p <= 1.0, "min_p", params.min_p, "a number from 0 to 1");
    const double r = params.repetition_penalty;
    require(r >= 1e-6 && r <= 1e6, "repetition_penalty", r, "a number from 1e-6 to 1e6");
    const auto require_moderate = [](const char* field, double value) {
        require(std::fabs(value) <= 1e6, field, value, "a number from -1e6 to 1e6");
    };
    require_moderate("presence_penalty", params.presence_penalty);
    require_moderate("frequency_penalty", params.frequency_penalty);
    for (const LogitBias& entry : params.logit_bias) {
        if (entry.token < 0 || entry.token >= vocab_size) {
            fail(ErrorCode::invalid_argument, "logit_bias names token {}; the vocabulary has ids 0 to {}", entry.token,
                 vocab_size - 1);
        }
        require_moderate("a logit_bias", static_cast<double>(entry.bias));
    }
}

}  // namespace colugo
