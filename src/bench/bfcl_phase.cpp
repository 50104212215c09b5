#include "bench/bfcl_phase.h"

#include <fmt/format.h>

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

}  // namespace

BfclPhase::BfclPhase(std::vector<BfclSample> samples) : samples_(std::move(samples)), verdicts_(samples_.size()) {}

nlohmann::ordered_json BfclPhase::request(size_t i) const {
    return bfcl_request(samples_[i]);
}

const BfclVerdict& BfclPhase::add_reply(size_t i, std::span<const BfclCall> calls) {
    return verdicts_[i].emplace(check_calls(samples_[i], calls));
}

BfclScores BfclPhase::count(bool only_answered) const {
    BfclScores scores;
    scores.subsets.resize(bfcl_subsets().size());
    for (size_t i = 0; i < samples_.size(); ++i) {
        const bool answered = verdicts_[i].has_value();
        BfclCount& count = scores.subsets[static_cast<size_t>(samples_[i].subset - bfcl_subsets().data())];
        if (answered || !only_answered) ++count.asked;
        if (answered) ++count.answered;
        if (answered && verdicts_[i]->right) ++count.right;
    }
    return scores;
}

BfclScores BfclPhase::scores_so_far() const {
    return count(true);
}

BfclScores BfclPhase::scores() const {
    return count(false);
}

nlohmann::ordered_json BfclPhase::row(size_t i) const {
    const std::optional<BfclVerdict>& verdict = verdicts_[i];
    const bool right = verdict && verdict->right;
    nlohmann::ordered_json row = {
        {"id", samples_[i].id}, {"subset", samples_[i].subset->name}, {"score", right ? 1 : 0}};
    if (!right) row["reason"] = verdict ? verdict->reason : "no reply";
    return row;
}

}  // namespace colugo
