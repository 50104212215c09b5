// What calibration learns of one linear input: its largest value, each column's mean square, and some rows as they
// were.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor_view.h"
#include "base/thread_pool.h"

namespace colugo {

class ActivationStats {
 public:
    // expected_rows: how many rows will come, from which kMostSamples are kept, evenly.
    ActivationStats(int64_t cols, int64_t expected_rows);

    void add(TensorView x, ThreadPool& threads);

    int64_t cols() const { return static_cast<int64_t>(square_sums_.size()); }
    int64_t rows() const { return rows_; }
    // Whether every value was finite, and every mean square is.
    bool finite() const;
    // The largest magnitude.
    float amax() const { return amax_; }
    // [cols] mean square of each column; 1 before the first row.
    std::vector<float> mean_squares() const;
    // [rows, cols]
    TensorView samples() { return TensorView(samples_.data(), sample_rows_, cols()); }

    static constexpr int64_t kMostSamples = 128;

 private:
    int64_t stride_;  // of the rows that are kept
    int64_t rows_ = 0;
    int64_t sample_rows_ = 0;
    float amax_ = 0.0f;
    std::vector<double> square_sums_;
    std::vector<float> samples_;
};

}  // namespace colugo
