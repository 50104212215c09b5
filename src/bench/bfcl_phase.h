// The accuracy phase without its transport: the requests to send, and what the replies to them are worth.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/bfcl_checker.h"
#include "bench/bfcl_data.h"
#include "bench/bfcl_scores.h"

namespace colugo {

class BfclPhase {
 public:
    explicit BfclPhase(std::vector<BfclSample> samples);

    size_t size() const { return samples_.size(); }
    const BfclSample& sample(size_t i) const { return samples_[i]; }
    // What of the i-th request is the sample's (bfcl_request.h).
    nlohmann::ordered_json request(size_t i) const;

    // Takes the calls of the reply to the i-th request; its text is of no account. A sample for which this is never
    // called has no reply, and counts as wrong.
    const BfclVerdict& add_reply(size_t i, std::span<const BfclCall> calls);

    // Of the samples so far, for the running score: those not answered yet are left out.
    BfclScores scores_so_far() const;
    BfclScores scores() const;
    // One row of a record of the phase: {"id", "subset", "score", "reason"}; reason where the score is 0.
    nlohmann::ordered_json row(size_t i) const;

 private:
    BfclScores count(bool only_answered) const;

    std::vector<BfclSample> samples_;
    std::vector<std::optional<BfclVerdict>> verdicts_;
};

}  // namespace colugo
