// What the samples' results add up to.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/bfcl_subsets.h"

namespace colugo {

struct BfclCount {
    size_t there = 0;      // in the data
    size_t questions = 0;  // of these, to be asked
    size_t asked = 0;      // so far
    size_t answered = 0;   // one that was asked and has no reply counts as wrong
    size_t right = 0;

    double mean() const { return asked == 0 ? 0 : static_cast<double>(right) / static_cast<double>(asked); }
};

struct BfclScores {
    std::vector<BfclCount> subsets;  // as bfcl_subsets() has them

    BfclCount total() const;
    // Of the subsets that were asked. non_live: the mean of its subsets' means, the simple ones together counting as
    // one; live: the mean over all samples; hallucination: the mean of its subsets' means.
    double category(BfclCategory category) const;
    bool has(BfclCategory category) const;  // whether any of it was asked
    double normalized() const;              // the mean of the categories
};

// In percent: {"overall", "normalized", "categories": {...}, "subsets": {name: {"score", "right", "answered", "asked",
// "questions"}}, "right", "answered", "asked", "questions", "sample_of", "missing": {name: count}}; score: null where
// nothing was asked; sample_of: how many questions the data have, where not all of these were to be asked, else null;
// missing: of the questions that would be asked of the published data, those that are not there.
nlohmann::ordered_json scores_json(const BfclScores& scores);

// What MLPerf's checker of submissions reads of them in accuracy/accuracy_results.json. bfcl: of scores_json, with the
// seconds of the phase as "wall_s".
nlohmann::ordered_json accuracy_entry(const nlohmann::ordered_json& bfcl);

}  // namespace colugo
