#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace colugo {

double percentile(const std::vector<double>& ascending, double percent) {
    COLUGO_CHECK(!ascending.empty());
    const double place = percent / 100.0 * static_cast<double>(ascending.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, ascending.size() - 1);
    return ascending[below] + (place - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

Spread::Spread(std::vector<double> values) : count(values.size()), ascending(std::move(values)) {
    if (count == 0) return;
    std::sort(ascending.begin(), ascending.end());
    min = ascending.front();
    max = ascending.back();
    const auto number = static_cast<double>(count);
    mean = std::accumulate(ascending.begin(), ascending.end(), 0.0) / number;
    double squares = 0.0;
    for (const double value : ascending) squares += (value - mean) * (value - mean);
    deviation = std::sqrt(squares / number);
}

nlohmann::ordered_json Spread::json() const {
    if (count == 0) return nullptr;
    return {{"mean", mean}, {"p50", at(50)}, {"p90", at(90)}, {"p99", at(99)},
            {"min", min},   {"max", max},    {"count", count}};
}

}  // namespace colugo
