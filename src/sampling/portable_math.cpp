#include "sampling/portable_math.h"

#include <bit>
#include <cstdint>

namespace colugo {

namespace {

// ln 2 in two parts. The first has 21 trailing zero bits, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
constexpr uint64_t kOneBits = uint64_t{1023} << 52;

// 1/21, 1/19, ..., 1/3
constexpr double kOddReciprocals[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                      1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
// 1/14!, 1/13!, ..., 1/0!
constexpr double kFactorialReciprocals[] = {1.0 / 87178291200,
                                            1.0 / 6227020800,
                                            1.0 / 479001600,
                                            1.0 / 39916800,
                                            1.0 / 3628800,
                                            1.0 / 362880,
                                            1.0 / 40320,
                                            1.0 / 5040,
                                            1.0 / 720,
                                            1.0 / 120,
                                            1.0 / 24,
                                            1.0 / 6,
                                            1.0 / 2,
                                            1.0,
                                            1.0};

}  // namespace

double portable_log(double x) {
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    int exponent = static_cast<int>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & kMantissa) | kOneBits);
    if (m > 1.4142135623730951) {  // m in [sqrt(1/2), sqrt(2)], so that log(m) has no cancellation with the exponent
        m *= 0.5;
        ++exponent;
    }
    // log m = 2 artanh s, s = (m - 1) / (m + 1), |s| <= 0.1716: the term s^21 is below 1e-16 of the first.
    const double s = (m - 1.0) / (m + 1.0);
    const double s2 = s * s;
    double series = 0.0;
    for (const double reciprocal : kOddReciprocals) series = (series + reciprocal) * s2;
    const double e = exponent;
    return e * kLn2High + (2.0 * s + (2.0 * s * series + e * kLn2Low));
}

double portable_exp(double x) {
    if (x < -700.0) return 0.0;
    // x = n ln 2 + r, |r| <= ln 2 / 2
    const auto n = static_cast<int64_t>(x * 1.4426950408889634 - 0.5);
    const double r = (x - static_cast<double>(n) * kLn2High) - static_cast<double>(n) * kLn2Low;
    double series = 0.0;
    for (const double reciprocal : kFactorialReciprocals) series = series * r + reciprocal;
    return series * std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

}  // namespace colugo
