#include "bench/bfcl_phase.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/bfcl_request.h"

namespace colugo {
namespace {

BfclVerdict check_calls(const BfclSample& sample, std::span<const BfclCall> calls) {
    if (sample.subset->wants_calls())
        return check_bfcl_calls(sample.subset->language, sample.functions, sample.answers, calls);
    if (calls.empty()) return {true, {}};
    return {false, fmt::format("{} is called, but no function fits the question", calls.front().name)};
}

size_t place_of(const BfclSample& sample) {
    return static_cast<size_t>(sample.subset - bfcl_subsets().data());
}

}  // namespace

BfclPhase::BfclPhase(std::vector<BfclSample> samples, size_t most) : there_(bfcl_subsets().size()) {
    for (const BfclSample& sample : samples) ++there_[place_of(sample)];
    const size_t count = std::min(most, samples.size());
    for (size_t i = 0; i < count; ++i) samples_.push_back(std::move(samples[i * samples.size() / count]));
    verdicts_.resize(count);
    failed_.resize(count);
}

nlohmann::ordered_json BfclPhase::request(size_t i) const {
    return bfcl_request(samples_[i]);
}

const BfclVerdict& BfclPhase::add_reply(size_t i, std::span<const BfclCall> calls) {
    return verdicts_[i].emplace(check_calls(samples_[i], calls));
}

void BfclPhase::add_failure(size_t i) {
    failed_[i] = true;
}

BfclScores BfclPhase::scores() const {
    BfclScores scores;
    for (const size_t there : there_) scores.subsets.push_back({.there = there});
    for (size_t i = 0; i < samples_.size(); ++i) {
        const bool answered = verdicts_[i].has_value();
        BfclCount& count = scores.subsets[place_of(samples_[i])];
        ++count.questions;
        if (answered || failed_[i]) ++count.asked;
        if (answered) ++count.answered;
        if (answered && verdicts_[i]->right) ++count.right;
    }
    return scores;
}

nlohmann::ordered_json BfclPhase::row(size_t i) const {
    const std::optional<BfclVerdict>& verdict = verdicts_[i];
    nlohmann::ordered_json row = {{"id", samples_[i].id}, {"subset", samples_[i].subset->name}, {"score", nullptr}};
    if (verdict || failed_[i]) row["score"] = verdict && verdict->right ? 1 : 0;
    if (verdict && !verdict->right) row["reason"] = verdict->reason;
    if (!verdict) row["reason"] = failed_[i] ? "no reply" : "not asked";
    return row;
}

}  // namespace colugo
