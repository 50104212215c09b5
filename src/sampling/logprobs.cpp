#include "sampling/logprobs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "sampling/portable_math.h"

namespace colugo {

namespace {

template <typename Body>
void for_each_token(const TokenMask& tokens, Body body) {
    for (size_t w = 0; w < tokens.words().size(); ++w) {
        for (uint64_t word = tokens.words()[w]; word != 0; word &= word - 1) {
            body(static_cast<int32_t>(w * 64) + std::countr_zero(word));
        }
    }
}

}  // namespace

double log_sum_exp(std::span<const float> logits, const TokenMask& tokens) {
    COLUGO_CHECK(static_cast<int64_t>(logits.size()) == tokens.size());
    double largest = -std::numeric_limits<double>::infinity();
    for_each_token(tokens, [&](int32_t token) {
        const double logit = static_cast<double>(logits[static_cast<size_t>(token)]);
        if (!std::isfinite(logit)) fail(ErrorCode::invalid_file, "the model gave token {} the logit {}", token, logit);
        largest = std::max(largest, logit);
    });
    double sum = 0.0;
    for_each_token(tokens, [&](int32_t token) {
        const double below = static_cast<double>(logits[static_cast<size_t>(token)]) - largest;
        if (below > -50.0) sum += portable_exp(below);  // e^-50 x any vocabulary is below a double's last bit of 1
    });
    return largest + portable_log(sum);
}

size_t top_logprobs(std::span<TokenLogprob> top, std::span<const float> logits, double log_sum,
                    const TokenMask& tokens) {
    COLUGO_CHECK(static_cast<int64_t>(logits.size()) == tokens.size());
    size_t count = 0;
    for_each_token(tokens, [&](int32_t token) {
        const float logit = logits[static_cast<size_t>(token)];
        // Ids ascend, so one that only equals an entry goes behind it.
        size_t slot = count;
        while (slot > 0 && logits[static_cast<size_t>(top[slot - 1].token)] < logit) --slot;
        if (slot == top.size()) return;
        count = std::min(count + 1, top.size());
        for (size_t i = count - 1; i > slot; --i) top[i] = top[i - 1];
        top[slot] = {token, token_logprob(logits, log_sum, token)};
    });
    return count;
}

}  // namespace colugo
