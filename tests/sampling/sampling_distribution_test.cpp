// Drawn frequencies against the softmax they claim to follow, by chi-square.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sampling/sampler.h"
#include "support/chi_square.h"

namespace colugo {
namespace {

constexpr int kVocab = 24;
constexpr int kDraws = 40000;

std::vector<float> test_logits() {
    std::vector<float> logits(kVocab);
    for (int i = 0; i < kVocab; ++i)
        logits[static_cast<size_t>(i)] = static_cast<float>((i * 11) % kVocab) * 0.2f - 2.0f;
    return logits;
}

// The definition, written with sorted lists: what the draws have to follow.
std::vector<double> expected_probabilities(const std::vector<float>& logits, const SamplingParams& params) {
    std::vector<size_t> order(logits.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
    if (params.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(params.top_k)));
    const auto weight = [&](size_t i) { return std::exp(static_cast<double>(logits[i]) / params.temperature); };
    const double largest = weight(order[0]);
    std::erase_if(order, [&](size_t i) { return weight(i) < params.min_p * largest; });
    double total = 0.0;
    for (const size_t i : order) total += weight(i);
    double reached = 0.0;
    size_t kept = 0;
    while (kept < order.size() && reached < params.top_p * total) reached += weight(order[kept++]);
    order.resize(kept);
    std::vector<double> probabilities(logits.size(), 0.0);
    for (const size_t i : order) probabilities[i] = weight(i) / reached;
    return probabilities;
}

struct Case {
    const char* name;
    double temperature;
    int top_k;
    double top_p;
    double min_p;
};

class Distribution : public testing::TestWithParam<Case> {};

TEST_P(Distribution, FollowsTheSoftmax) {
    const std::vector<float> logits = test_logits();
    SamplingParams params;
    params.temperature = GetParam().temperature;
    params.top_k = GetParam().top_k;
    params.top_p = GetParam().top_p;
    params.min_p = GetParam().min_p;
    Sampler sampler(TokenMask(kVocab, true));
    const TokenHistory history(kVocab);
    const std::vector<double> probabilities = expected_probabilities(logits, params);

    std::vector<int> over_positions(kVocab, 0);
    std::vector<int> over_seeds(kVocab, 0);
    for (int i = 0; i < kDraws; ++i) {
        params.seed = 20260101;
        ++over_positions[static_cast<size_t>(sampler.draw(logits, i, params, history))];
        params.seed = static_cast<uint64_t>(i);
        ++over_seeds[static_cast<size_t>(sampler.draw(logits, 99, params, history))];
    }
    for (const auto* counts : {&over_positions, &over_seeds}) {
        int degrees = 0;
        const double statistic = chi_square(*counts, probabilities, &degrees);
        if (degrees > 0) {
            EXPECT_LT(statistic, chi_square_limit(degrees));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Filters, Distribution,
                         testing::Values(Case{"plain", 1.0, 0, 1.0, 0.0}, Case{"hot", 2.5, 0, 1.0, 0.0},
                                         Case{"cold", 0.3, 0, 1.0, 0.0}, Case{"top_k", 1.0, 5, 1.0, 0.0},
                                         Case{"top_p", 1.0, 0, 0.8, 0.0}, Case{"min_p", 1.0, 0, 1.0, 0.1},
                                         Case{"all", 0.7, 12, 0.9, 0.05}, Case{"one", 1.0, 1, 1.0, 0.0}),
                         [](const auto& test_case) { return std::string(test_case.param.name); });

TEST(DistributionTest, CanFail) {
    const std::vector<float> logits = test_logits();
    SamplingParams params;
    params.temperature = 1.05;
    Sampler sampler(TokenMask(kVocab, true));
    const TokenHistory history(kVocab);
    std::vector<int> counts(kVocab, 0);
    for (int i = 0; i < kDraws; ++i) ++counts[static_cast<size_t>(sampler.draw(logits, i, params, history))];
    params.temperature = 1.0;
    int degrees = 0;
    const double statistic = chi_square(counts, expected_probabilities(logits, params), &degrees);
    EXPECT_GT(statistic, chi_square_limit(degrees));
}

// Tokens of neighbouring positions are independent: pairs follow the product.
TEST(DistributionTest, NeighbouringPositionsAreIndependent) {
    SamplingParams params;
    params.temperature = 1.0;
    params.seed = 3;
    Sampler sampler(TokenMask(4, true));
    const TokenHistory history(4);
    const std::vector<float> logits(4, 0.0f);
    std::vector<int> pairs(16, 0);
    for (int i = 0; i < kDraws; ++i) {
        const int32_t first = sampler.draw(logits, 2 * i, params, history);
        const int32_t second = sampler.draw(logits, 2 * i + 1, params, history);
        ++pairs[static_cast<size_t>(first * 4 + second)];
    }
    int degrees = 0;
    const double statistic = chi_square(pairs, std::vector<double>(16, 1.0 / 16.0), &degrees);
    EXPECT_LT(statistic, chi_square_limit(degrees));
}

}  // namespace
}  // namespace colugo
