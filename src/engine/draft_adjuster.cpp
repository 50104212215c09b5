#include "engine/draft_adjuster.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "sampling/gumbel_noise.h"

namespace colugo {

namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

// Makes the reply's token the head's first choice as often as the replay says, and no choice otherwise.
void replay_draft(const Sequence& sequence, int64_t position, DraftLogits logits) {
    constexpr float kSure = 20.0f;
    const Replay& replay = *sequence.request().replay;
    const auto index = static_cast<size_t>(position - sequence.prompt_len());
    if (index >= replay.tokens.size()) return;
    const auto depth = static_cast<size_t>(position - std::ssize(sequence.tokens()));  // from 0
    const double acceptance = replay.head_acceptance[std::min(depth, replay.head_acceptance.size() - 1)];
    const int32_t token = replay.tokens[index];
    const GumbelNoise noise(sequence.request().sampling.seed, position);
    const bool is_right = static_cast<double>(noise.bits(token)) * 0x1p-52 < acceptance;
    const std::span<float> values = logits.values;
    const float largest = *std::max_element(values.begin(), values.end());
    for (size_t i = 0; i < values.size(); ++i) {
        if (logits.token(i) == token) values[i] = is_right ? largest + kSure : kNone;
    }
}

}  // namespace

void DraftAdjuster::adjust(Sequence& sequence, int64_t position, DraftLogits logits) {
    const bool is_next = position == std::ssize(sequence.tokens());
    const TokenMask* const allowed = is_next ? sequence.allowed() : nullptr;  // what is behind a draft is not known
    for (size_t i = 0; i < logits.values.size(); ++i) {
        const int32_t token = logits.token(i);
        if (!drawable_.contains(token) || (allowed && !allowed->contains(token))) logits.values[i] = kNone;
    }
    if (sequence.request().replay) return replay_draft(sequence, position, logits);
    const SamplingParams& params = sequence.request().sampling;
    if (params.temperature > 0.0) add_noise(params, position, logits);
}

// To the likeliest tokens alone.
void DraftAdjuster::add_noise(const SamplingParams& params, int64_t position, DraftLogits logits) {
    constexpr size_t kMost = 64;
    const std::span<float> values = logits.values;
    largest_.assign(values.begin(), values.end());
    const size_t count = std::min(kMost, largest_.size());
    std::nth_element(largest_.begin(), largest_.begin() + static_cast<std::ptrdiff_t>(count - 1), largest_.end(),
                     std::greater<>());
    const float least = largest_[count - 1];
    const GumbelNoise noise(params.seed, position);
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = values[i] < least || std::isinf(values[i])
                        ? kNone
                        : static_cast<float>(values[i] / params.temperature + noise(logits.token(i)));
    }
}

}  // namespace colugo
