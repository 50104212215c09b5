// The accuracy phase without its transport: the requests to send, and what the replies to them are worth.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "bench/bfcl_checker.h"
#include "bench/bfcl_data.h"
#include "bench/bfcl_scores.h"

namespace colugo {

class BfclPhase {
 public:
    // Of the samples no more than `most` are asked: places at equal distances in their list, so that each subset has
    // about its share.
    explicit BfclPhase(std::vector<BfclSample> samples, size_t most = std::numeric_limits<size_t>::max());

    size_t size() const { return samples_.size(); }
    const BfclSample& sample(size_t i) const { return samples_[i]; }
    // What of the i-th request is the sample's (bfcl_request.h).
    nlohmann::ordered_json request(size_t i) const;

    // Takes the calls of the reply to the i-th request; its text is of no account.
    const BfclVerdict& add_reply(size_t i, std::span<const BfclCall> calls);
    // The i-th request has no reply, which counts as wrong. A sample that has neither was not asked.
    void add_failure(size_t i);

    BfclScores scores() const;
    // One row of a record of the phase: {"id", "subset", "score", "reason"}; score: 1, 0, or null where it was not
    // asked; reason where it is not 1.
    nlohmann::ordered_json row(size_t i) const;

 private:
    std::vector<size_t> there_;  // samples, by subset
    std::vector<BfclSample> samples_;
    std::vector<std::optional<BfclVerdict>> verdicts_;
    std::vector<bool> failed_;
};

}  // namespace colugo
