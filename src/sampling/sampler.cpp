#include "sampling/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "sampling/portable_math.h"

namespace colugo {

namespace {

constexpr float kGone = -std::numeric_limits<float>::infinity();
constexpr uint32_t kExponent = 0x7f800000u;  // all set: infinity or NaN
constexpr double kLargest = std::numeric_limits<float>::max();

// The argmax of value + noise over offers in any order.
class Race {
 public:
    explicit Race(const GumbelNoise& noise) : noise_(noise) {}

    void offer(int32_t token, double value) {
        // Most tokens lose by far: the bounds save their logarithms, and the first one even their hash.
        if (value + GumbelNoise::kMax < best_) return;
        const uint64_t bits = noise_.bits(token);
        if (value + GumbelNoise::upper_bound(bits) < best_) return;
        const double score = value + GumbelNoise::from_bits(bits);
        if (score > best_ || (score == best_ && token < winner_)) {
            best_ = score;
            winner_ = token;
        }
    }
    int32_t winner() const { return winner_; }

 private:
    const GumbelNoise& noise_;
    double best_ = -std::numeric_limits<double>::infinity();
    int32_t winner_ = -1;
};

}  // namespace

Sampler::Sampler(TokenMask tokens) : tokens_(std::move(tokens)), logits_(static_cast<size_t>(tokens_.size())) {
    candidates_.reserve(logits_.size());
}

int32_t Sampler::draw(std::span<const float> logits, int64_t position, const SamplingParams& params,
                      const TokenHistory& history, const TokenMask* allowed) {
    COLUGO_CHECK(logits.size() == logits_.size() && history.vocab_size() == tokens_.size());
    load(logits, allowed);
    adjust(params, history);
    const Candidate largest = best();
    if (largest.token < 0) fail(ErrorCode::invalid_argument, "the mask of allowed tokens leaves no token to draw");
    if (params.temperature == 0.0) return largest.token;

    const GumbelNoise noise(params.seed, position);
    if (params.top_k == 0 && params.min_p == 0.0 && params.top_p >= 1.0) {
        return race_all(noise, params.temperature, largest);
    }
    keep_top_k(params.top_k);
    keep_min_p(params.min_p, params.temperature, largest.logit);
    keep_top_p(params.top_p, params.temperature, largest.logit);
    return race_candidates(noise, params.temperature);
}

void Sampler::load(std::span<const float> logits, const TokenMask* allowed) {
    uint32_t not_finite = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
        logits_[i] = logits[i];
        not_finite |= static_cast<uint32_t>((std::bit_cast<uint32_t>(logits[i]) & kExponent) == kExponent);
    }
    if (not_finite != 0) {
        const auto bad = std::find_if(logits.begin(), logits.end(), [](float x) { return !std::isfinite(x); });
        fail(ErrorCode::invalid_file, "the model gave token {} the logit {}", bad - logits.begin(), *bad);
    }
    if (allowed != nullptr) COLUGO_CHECK(allowed->size() == tokens_.size());
    for (size_t w = 0; w < tokens_.words().size(); ++w) {
        uint64_t left = tokens_.words()[w];
        if (allowed != nullptr) left &= allowed->words()[w];
        if (left == ~uint64_t{0}) continue;
        const size_t end = std::min(logits_.size(), w * 64 + 64);
        for (size_t i = w * 64; i < end; ++i) {
            if (((left >> (i & 63)) & 1u) == 0) logits_[i] = kGone;
        }
    }
}

void Sampler::adjust(const SamplingParams& params, const TokenHistory& history) {
    for (const LogitBias& entry : params.logit_bias) logits_[static_cast<size_t>(entry.token)] += entry.bias;
    if (params.repetition_penalty == 1.0 && params.presence_penalty == 0.0 && params.frequency_penalty == 0.0) return;
    for (const int32_t token : history.tokens()) {
        const int32_t outputs = history.output_count(token);
        float& adjusted = logits_[static_cast<size_t>(token)];
        if (outputs + history.prompt_count(token) == 0 || adjusted == kGone) continue;
        double logit = static_cast<double>(adjusted);
        logit = logit > 0.0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
        if (outputs > 0) logit -= params.presence_penalty + params.frequency_penalty * outputs;
        adjusted = static_cast<float>(std::clamp(logit, -kLargest, kLargest));
    }
}

// The largest logit and its lowest token; token -1 when all are gone.
Sampler::Candidate Sampler::best() const {
    constexpr size_t kLanes = 16;
    float lanes[kLanes];
    std::fill(lanes, lanes + kLanes, kGone);
    const size_t whole = logits_.size() / kLanes * kLanes;
    for (size_t i = 0; i < whole; i += kLanes) {
        for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = std::max(lanes[lane], logits_[i + lane]);
    }
    float largest = *std::max_element(lanes, lanes + kLanes);
    for (size_t i = whole; i < logits_.size(); ++i) largest = std::max(largest, logits_[i]);
    if (largest == kGone) return {kGone, -1};
    return {largest, static_cast<int32_t>(std::find(logits_.begin(), logits_.end(), largest) - logits_.begin())};
}

// Fills candidates_ with the k first of all tokens, in their order, or with all in order of id (k = 0). Twice k are
// collected before the worse half is dropped, so that a token costs one comparison and not a heap operation.
void Sampler::keep_top_k(int32_t k) {
    const auto before = [](const Candidate& a, const Candidate& b) { return a.before(b); };
    const size_t keep = k == 0 ? logits_.size() : std::min(static_cast<size_t>(k), logits_.size());
    const size_t limit = std::max(2 * keep, size_t{64});
    candidates_.clear();
    float threshold = kGone;  // a later id has to be above it
    const auto drop_worse = [&] {
        if (candidates_.size() <= keep) return;
        const auto kept_end = candidates_.begin() + static_cast<std::ptrdiff_t>(keep);
        std::nth_element(candidates_.begin(), kept_end - 1, candidates_.end(), before);
        candidates_.erase(kept_end, candidates_.end());
        threshold = candidates_.back().logit;
    };
    for (size_t i = 0; i < logits_.size(); ++i) {
        if (!(logits_[i] > threshold)) continue;
        candidates_.push_back({logits_[i], static_cast<int32_t>(i)});
        if (candidates_.size() >= limit) drop_worse();
    }
    drop_worse();
    if (k != 0) std::sort(candidates_.begin(), candidates_.end(), before);
}

// p / p_max = e^((logit - largest) / T) >= min_p
void Sampler::keep_min_p(double min_p, double temperature, float largest) {
    if (min_p == 0.0) return;
    const double floor = static_cast<double>(largest) + temperature * portable_log(min_p);
    std::erase_if(candidates_,
                  [&](const Candidate& c) { return c.logit != largest && static_cast<double>(c.logit) < floor; });
}

void Sampler::keep_top_p(double top_p, double temperature, float largest) {
    if (top_p >= 1.0) return;
    const auto before = [](const Candidate& a, const Candidate& b) { return a.before(b); };
    const auto weight = [&](const Candidate& c) {
        return portable_exp((static_cast<double>(c.logit) - static_cast<double>(largest)) / temperature);
    };
    double total = 0.0;
    for (const Candidate& c : candidates_) total += weight(c);
    const double target = top_p * total;
    double sum = 0.0;
    size_t kept = 0;
    size_t sorted = 0;
    while (kept < candidates_.size() && sum < target) {
        if (kept == sorted) {  // the set is small as a rule: only as much is put in order as it takes
            sorted = std::min(candidates_.size(), std::max<size_t>(128, sorted * 4));
            const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(kept);
            const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(sorted);
            if (end != candidates_.end()) std::nth_element(begin, end, candidates_.end(), before);
            std::sort(begin, end, before);
        }
        sum += weight(candidates_[kept++]);
    }
    candidates_.resize(std::max<size_t>(kept, 1));
}

int32_t Sampler::race_all(const GumbelNoise& noise, double temperature, Candidate first) const {
    Race race(noise);
    race.offer(first.token, static_cast<double>(first.logit) / temperature);  // the one the bounds work best with
    for (size_t i = 0; i < logits_.size(); ++i) {
        if (logits_[i] != kGone) race.offer(static_cast<int32_t>(i), static_cast<double>(logits_[i]) / temperature);
    }
    return race.winner();
}

int32_t Sampler::race_candidates(const GumbelNoise& noise, double temperature) const {
    Race race(noise);
    for (const Candidate& c : candidates_) race.offer(c.token, static_cast<double>(c.logit) / temperature);
    return race.winner();
}

}  // namespace colugo
