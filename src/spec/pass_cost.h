// What passes and drafts cost on this machine: measured at the start, and corrected by those that were run.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/qwen35.h"

namespace colugo {

// The least seconds that `rows` siblings' drafts by the head took in a few runs, over groups of the vocabulary.
double time_draft_level(Qwen35& model, int rows, std::span<const int32_t> groups);

class PassCost {
 public:
    // Runs passes of 1, 2, 4, ... rows, not more than most_rows, and drafts by the head where the model has one.
    PassCost(Qwen35& model, int most_rows);
    // pass_seconds: of 1, 2, 4, ... rows.
    PassCost(std::span<const double> pass_seconds, double draft_seconds, double draft_seconds_per_row);

    // Seconds of a pass over so many rows, logits included: between what is known in straight lines, and beyond it.
    double pass(double rows) const;
    // Seconds of a level of drafts by the head, for so many rows.
    double draft(double rows) const { return draft_seconds_ + draft_seconds_per_row_ * rows; }

    void record_pass(int64_t rows, double seconds);
    void record_draft(int64_t rows, double seconds);
    // What is recorded from now on changes nothing.
    void hold() { held_ = true; }

 private:
    static constexpr size_t kMostSizes = 6;  // 1 to 32 rows

    static bool is_believed(double& surprise, int& outliers);

    std::array<double, kMostSizes> pass_seconds_{};  // of 2^i rows
    size_t sizes_ = 0;
    double draft_seconds_ = 0.0;
    double draft_seconds_per_row_ = 0.0;
    int pass_outliers_ = 0, draft_outliers_ = 0;  // one after the other, up to now
    bool held_ = false;
};

}  // namespace colugo
