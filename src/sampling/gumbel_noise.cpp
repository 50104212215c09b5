#include "sampling/gumbel_noise.h"

#include <bit>
#include <random>

#include "sampling/portable_math.h"

namespace colugo {

namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, odd: successive multiples are far apart

// The finalizer of splitmix64: a bijection whose every output bit depends on every input bit.
uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

}  // namespace

GumbelNoise::GumbelNoise(uint64_t seed, int64_t position)
    : stream_(mix(mix(seed + kGolden) + static_cast<uint64_t>(position) * kGolden)) {}

uint64_t GumbelNoise::bits(int32_t token) const {
    return mix(stream_ + (static_cast<uint64_t>(token) + 1) * kGolden) >> 12;
}

double GumbelNoise::from_bits(uint64_t bits) {
    const double u = (static_cast<double>(bits) + 0.5) * 0x1p-52;  // 52 bits and the half fit a double exactly
    return -portable_log(-portable_log(u));
}

// -log(u) >= 1 - u = (c + 1/2) / 2^52 with c = 2^52 - 1 - bits, and c + 1/2 >= 2^(width(c) - 1).
double GumbelNoise::upper_bound(uint64_t bits) {
    constexpr double kLn2 = 0.6931471805599454;  // rounded up
    const uint64_t c = (uint64_t{1} << 52) - 1 - bits;
    return static_cast<double>(53 - std::bit_width(c)) * kLn2 + 1e-12;
}

uint64_t make_seed() {
    std::random_device device;
    const uint64_t high = device();
    return ((high << 32) | device()) >> 11;
}

}  // namespace colugo
