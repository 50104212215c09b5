// Mean and percentiles of measured values.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace colugo {

// A percentile (0 to 100) of values in ascending order, not empty: between the two nearest, linearly (as numpy does).
double percentile(const std::vector<double>& ascending, double percent);

struct Spread {
    size_t count = 0;
    double mean = 0.0, min = 0.0, max = 0.0, deviation = 0.0;  // deviation: of all values, not of a sample
    std::vector<double> ascending;

    explicit Spread(std::vector<double> values);
    double at(double percent) const { return percentile(ascending, percent); }
    // {"mean", "p50", "p90", "p99", "min", "max", "count"}; null where there is no value.
    nlohmann::ordered_json json() const;
};

}  // namespace colugo
