#include "sampling/gumbel_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "sampling/portable_math.h"

namespace colugo {
namespace {

TEST(PortableMath, LogAgreesWithTheLibrary) {
    for (int exponent = -60; exponent <= 10; ++exponent) {
        for (int step = 0; step < 997; ++step) {
            const double x = std::ldexp(1.0 + step / 997.0, exponent);
            const double expected = std::log(x);
            EXPECT_NEAR(portable_log(x), expected, 1e-15 * std::fabs(expected) + 1e-300) << x;
        }
    }
    EXPECT_EQ(portable_log(1.0), 0.0);
    const double below_one = 1.0 - 0x1p-53;
    EXPECT_NEAR(portable_log(below_one) / std::log(below_one), 1.0, 1e-14);
}

TEST(PortableMath, ExpAgreesWithTheLibrary) {
    for (int step = 0; step <= 69000; ++step) {
        const double x = -step * 0.01;
        EXPECT_NEAR(portable_exp(x) / std::exp(x), 1.0, 1e-14) << x;
    }
    EXPECT_EQ(portable_exp(0.0), 1.0);
    EXPECT_EQ(portable_exp(-701.0), 0.0);
    EXPECT_EQ(portable_exp(-std::numeric_limits<double>::infinity()), 0.0);
}

// Seeds that were given out keep their meaning: these numbers may not change.
TEST(GumbelNoise, KnownValues) {
    EXPECT_EQ(GumbelNoise(42, 0).bits(0), 0xc5a57e8172f0au);
    EXPECT_EQ(GumbelNoise(42, 7).bits(1234), 0xae028a3a270f2u);
    EXPECT_EQ(GumbelNoise(43, 7).bits(1234), 0xa924e479a4491u);
    EXPECT_DOUBLE_EQ(GumbelNoise::from_bits(uint64_t{1} << 51), -std::log(-std::log(0.5 + 0x1p-53)));
}

TEST(GumbelNoise, DiffersInEveryArgument) {
    std::set<uint64_t> seen;
    for (uint64_t seed = 0; seed < 10; ++seed) {
        for (int64_t position = 0; position < 50; ++position) {
            for (int32_t token = 0; token < 50; ++token) seen.insert(GumbelNoise(seed, position).bits(token));
        }
    }
    EXPECT_EQ(seen.size(), 25000u);
}

TEST(GumbelNoise, MomentsOverTokensAndOverPositions) {
    const double euler_gamma = 0.5772156649015329;
    const double variance = 3.14159265358979 * 3.14159265358979 / 6.0;
    const int n = 100000;
    for (const bool over_positions : {false, true}) {
        double sum = 0.0;
        double squares = 0.0;
        for (int i = 0; i < n; ++i) {
            const double g = over_positions ? GumbelNoise(1, i)(17) : GumbelNoise(1, 17)(i);
            sum += g;
            squares += g * g;
        }
        const double mean = sum / n;
        EXPECT_NEAR(mean, euler_gamma, 4.0 * std::sqrt(variance / n));
        EXPECT_NEAR(squares / n - mean * mean, variance, 0.04);
    }
}

TEST(GumbelNoise, BoundsHoldEverywhere) {
    const uint64_t last = (uint64_t{1} << 52) - 1;
    for (int shift = 0; shift <= 52; ++shift) {
        for (const uint64_t c : {(uint64_t{1} << shift) - 1, uint64_t{1} << shift}) {
            if (c > last) continue;
            for (const uint64_t bits : {c, last - c}) {
                const double g = GumbelNoise::from_bits(bits);
                EXPECT_TRUE(std::isfinite(g));
                EXPECT_LE(g, GumbelNoise::upper_bound(bits)) << bits;
                EXPECT_LT(g, GumbelNoise::kMax);
            }
        }
    }
}

TEST(GumbelNoise, MadeSeedsFitJsonNumbersAndDiffer) {
    const uint64_t a = make_seed();
    EXPECT_LT(a, uint64_t{1} << 53);
    EXPECT_NE(a, make_seed());
}

}  // namespace
}  // namespace colugo
