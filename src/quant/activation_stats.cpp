#include "quant/activation_stats.h"

#include <algorithm>
#include <cmath>

namespace colugo {

ActivationStats::ActivationStats(int64_t cols, int64_t expected_rows)
    : stride_((expected_rows + kMostSamples - 1) / kMostSamples),
      square_sums_(static_cast<size_t>(cols)),
      samples_(static_cast<size_t>(cols * std::min(expected_rows, kMostSamples))) {
    stride_ = std::max<int64_t>(stride_, 1);
}

void ActivationStats::add(TensorView x, ThreadPool& threads) {
    constexpr int64_t kColumns = 256;  // of one task
    const auto blocks = static_cast<int>((cols() + kColumns - 1) / kColumns);
    std::vector<float> largest(static_cast<size_t>(blocks));
    // Each column's sum runs over the rows in order, whatever the number of threads.
    threads.parallel_for(blocks, [&](int block, int) {
        const int64_t begin = block * kColumns;
        const int64_t end = std::min(begin + kColumns, cols());
        float most = 0.0f;
        for (int64_t row = 0; row < x.rows; ++row) {
            const float* values = x.f32(row);
            for (int64_t i = begin; i < end; ++i) {
                square_sums_[static_cast<size_t>(i)] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
                most = std::max(most, std::fabs(values[i]));
            }
        }
        largest[static_cast<size_t>(block)] = most;
    });
    for (const float most : largest) amax_ = std::max(amax_, most);
    for (int64_t row = 0; row < x.rows; ++row, ++rows_) {
        if (rows_ % stride_ != 0 || (sample_rows_ + 1) * cols() > static_cast<int64_t>(samples_.size())) continue;
        std::copy_n(x.f32(row), cols(), samples_.data() + sample_rows_ * cols());
        ++sample_rows_;
    }
}

bool ActivationStats::finite() const {
    const std::vector<float> means = mean_squares();
    return std::all_of(means.begin(), means.end(), [](float mean) { return std::isfinite(mean); });
}

std::vector<float> ActivationStats::mean_squares() const {
    std::vector<float> means(square_sums_.size(), 1.0f);
    for (size_t i = 0; i < means.size() && rows_ > 0; ++i) {
        means[i] = static_cast<float>(square_sums_[i] / static_cast<double>(rows_));
    }
    return means;
}

}  // namespace colugo
