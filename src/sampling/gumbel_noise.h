// The noise of the draw law: a pure function of (seed, position, token), so that a token's luck does not depend on what
// was computed before it, in which batch, or on which machine.
#pragma once

#include <cstdint>

namespace colugo {

class GumbelNoise {
 public:
    // position: absolute, of the token that is drawn; the first of a sequence has 0.
    GumbelNoise(uint64_t seed, int64_t position);

    // Standard Gumbel: -log(-log(u)), u uniform in (0, 1).
    double operator()(int32_t token) const { return from_bits(bits(token)); }

    // 52 uniform bits: u = (bits + 1/2) / 2^52.
    uint64_t bits(int32_t token) const;
    static double from_bits(uint64_t bits);
    // Not below from_bits(bits), without a logarithm.
    static double upper_bound(uint64_t bits);

    static constexpr double kMax = 36.8;  // no noise is above it: -log(2^-53) = 36.74

 private:
    uint64_t stream_;
};

// A seed for a request that brought none, from the system's entropy; below 2^53, so that JSON readers keep every digit.
uint64_t make_seed();

}  // namespace colugo
