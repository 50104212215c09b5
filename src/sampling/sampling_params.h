// How a request wants its tokens drawn. The defaults leave the distribution as the model gave it and draw greedily.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace colugo {

struct LogitBias {
    int32_t token;
    float bias;  // added to the logit
};

struct SamplingParams {
    double temperature = 0.0;  // 0: the most likely token, without noise
    int32_t top_k = 0;         // 0: off
    double top_p = 1.0;        // 1: off
    double min_p = 0.0;        // 0: off
    double repetition_penalty = 1.0;
    double presence_penalty = 0.0;
    double frequency_penalty = 0.0;
    std::vector<LogitBias> logit_bias;
    uint64_t seed = 0;

    bool operator==(const SamplingParams&) const = default;
};

inline bool operator==(const LogitBias& a, const LogitBias& b) {
    return a.token == b.token && a.bias == b.bias;
}

// Throws invalid_argument naming the field: temperature 0 or 1e-6..1e6, top_k >= 0, 0 < top_p <= 1, 0 <= min_p <= 1,
// repetition_penalty 1e-6..1e6, the other penalties and biases within +-1e6, biased tokens below vocab_size.
void check_sampling_params(const SamplingParams& params, int64_t vocab_size);

}  // namespace colugo
