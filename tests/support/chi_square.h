// Counts against the probabilities they claim to follow.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace colugo {

// The statistic's 1 - 1e-4 quantile, by Wilson and Hilferty's cube-root approximation.
inline double chi_square_limit(int degrees) {
    const double z = 3.719;
    const double a = 2.0 / (9.0 * degrees);
    return degrees * std::pow(1.0 - a + z * std::sqrt(a), 3.0);
}

// The statistic, and its degrees of freedom. What has no probability must not have been counted.
inline double chi_square(const std::vector<int>& counts, const std::vector<double>& probabilities, int* degrees) {
    const int total = std::accumulate(counts.begin(), counts.end(), 0);
    double statistic = 0.0;
    *degrees = -1;
    for (size_t i = 0; i < counts.size(); ++i) {
        if (probabilities[i] == 0.0) {
            EXPECT_EQ(counts[i], 0) << "outcome " << i << " is impossible and came";
            continue;
        }
        const double expected = probabilities[i] * total;
        statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
        ++*degrees;
    }
    return statistic;
}

}  // namespace colugo
