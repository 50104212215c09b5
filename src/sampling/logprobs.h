// Log-softmax of the raw logits over the ids that have a token: before bias, penalties, temperature and filters.
#pragma once

#include <cstdint>
#include <span>

#include "sampling/token_mask.h"

namespace colugo {

inline constexpr int kMostTopLogprobs = 20;

struct TokenLogprob {
    int32_t token;
    float logprob;  // natural logarithm, <= 0
};

// log of the sum of e^logit over `tokens`. Throws invalid_file when a logit there is not finite.
double log_sum_exp(std::span<const float> logits, const TokenMask& tokens);

// logit of the token minus log_sum_exp.
inline float token_logprob(std::span<const float> logits, double log_sum, int32_t token) {
    return static_cast<float>(static_cast<double>(logits[static_cast<size_t>(token)]) - log_sum);
}

// The top.size() most likely tokens, most likely first, the lower id first among equals. Returns how many there are:
// fewer than asked for only where `tokens` has fewer.
size_t top_logprobs(std::span<TokenLogprob> top, std::span<const float> logits, double log_sum,
                    const TokenMask& tokens);

}  // namespace colugo
