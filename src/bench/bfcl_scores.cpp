#include "bench/bfcl_scores.h"

#include <cmath>
#include <string>

namespace colugo {
namespace {

using Json = nlohmann::ordered_json;

class Mean {
 public:
    void add(double value) {
        sum_ += value;
        ++count_;
    }
    bool empty() const { return count_ == 0; }
    double value() const { return empty() ? 0 : sum_ / static_cast<double>(count_); }

 private:
    double sum_ = 0;
    size_t count_ = 0;
};

double percent(double share) {
    return std::round(share * 1e4) / 1e2;
}

BfclCount sum_of(const BfclScores& scores, auto belongs) {
    BfclCount sum;
    for (size_t i = 0; i < scores.subsets.size(); ++i) {
        if (!belongs(bfcl_subsets()[i])) continue;
        sum.there += scores.subsets[i].there;
        sum.questions += scores.subsets[i].questions;
        sum.asked += scores.subsets[i].asked;
        sum.answered += scores.subsets[i].answered;
        sum.right += scores.subsets[i].right;
    }
    return sum;
}

Json category_percents(const BfclScores& scores) {
    Json percents = Json::object();
    for (const BfclCategory category : kBfclCategories) {
        if (scores.has(category)) percents[std::string(category_name(category))] = percent(scores.category(category));
    }
    return percents;
}

// By subset, what would be asked of the data as they are published and is not there.
Json missing_questions(const BfclScores& scores) {
    Json missing = Json::object();
    for (size_t i = 0; i < scores.subsets.size(); ++i) {
        const BfclSubset& subset = bfcl_subsets()[i];
        const size_t expected = subset.rows_asked(subset.rows), there = scores.subsets[i].there;
        if (there < expected) missing[std::string(subset.name)] = expected - there;
    }
    return missing;
}

}  // namespace

BfclCount BfclScores::total() const {
    return sum_of(*this, [](const BfclSubset&) { return true; });
}

bool BfclScores::has(BfclCategory category) const {
    return sum_of(*this, [&](const BfclSubset& subset) { return subset.category == category; }).asked > 0;
}

double BfclScores::category(BfclCategory category) const {
    if (category == BfclCategory::live)
        return sum_of(*this, [](const BfclSubset& subset) { return subset.category == BfclCategory::live; }).mean();
    Mean simple;
    Mean mean;
    for (size_t i = 0; i < subsets.size(); ++i) {
        const BfclSubset& subset = bfcl_subsets()[i];
        if (subset.category == category && subsets[i].asked > 0) (subset.simple ? simple : mean).add(subsets[i].mean());
    }
    if (!simple.empty()) mean.add(simple.value());
    return mean.value();
}

double BfclScores::normalized() const {
    Mean mean;
    for (const BfclCategory category : kBfclCategories)
        if (has(category)) mean.add(this->category(category));
    return mean.value();
}

Json scores_json(const BfclScores& scores) {
    Json subsets = Json::object();
    for (size_t i = 0; i < scores.subsets.size(); ++i) {
        const BfclCount& count = scores.subsets[i];
        if (count.questions == 0) continue;
        subsets[std::string(bfcl_subsets()[i].name)] = {
            {"score", count.asked == 0 ? Json() : Json(percent(count.mean()))},
            {"right", count.right},
            {"answered", count.answered},
            {"asked", count.asked},
            {"questions", count.questions}};
    }
    const BfclCount total = scores.total();
    return {{"overall", percent(total.mean())},
            {"normalized", percent(scores.normalized())},
            {"categories", category_percents(scores)},
            {"subsets", std::move(subsets)},
            {"right", total.right},
            {"answered", total.answered},
            {"asked", total.asked},
            {"questions", total.questions},
            {"sample_of", total.questions < total.there ? Json(total.there) : Json()},
            {"missing", missing_questions(scores)}};
}

Json accuracy_entry(const Json& bfcl) {
    Json subsets = Json::object();
    for (const auto& [name, subset] : bfcl["subsets"].items()) {
        if (!subset["score"].is_null()) subsets[name] = subset["score"];
    }
    const auto count = [&](const char* name) { return bfcl[name].get<size_t>(); };
    const BfclCount total{.asked = count("asked"), .answered = count("answered"), .right = count("right")};
    const size_t questions = count("questions");
    return {{"dataset_name", "bfcl_v4::function_calling"},
            {"score", total.mean()},
            {"unit_samples", questions},
            {"num_repeats", 1},
            {"total_samples", questions},
            {"duration_s", std::round(bfcl["wall_s"].get<double>() * 1e3) / 1e3},
            {"complete", total.answered == questions && bfcl["missing"].empty() && bfcl["sample_of"].is_null()},
            {"dataset_type", "accuracy"},
            {"breakdown",
             {{"overall_accuracy", bfcl["overall"]},
              {"normalized_single_turn_score", bfcl["normalized"]},
              {"category_scores", bfcl["categories"]},
              {"subset_scores", std::move(subsets)},
              {"unscored_subsets", Json::object()},
              {"total_samples", total.answered},
              {"issued_samples", total.asked}}}};
}

}  // namespace colugo
