#include <bit>
#include <cfloat>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/each_tier.h"
#include "kernels/vector_math_probe.h"

namespace colugo::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

class VectorMathTest : public EachTier {
 protected:
    static VectorMathProbe probe() {
#if defined(__x86_64__)
        if (GetParam()->emulated) return emulated_vector_math();
        if (GetParam()->table.tier >= Tier::avx512) return avx512::vector_math();  // the tiers above have the same
        if (GetParam()->table.tier == Tier::avx2) return avx2::vector_math();
#endif
        return scalar::vector_math();
    }

    static float call(ArrayFunction function, float x) {
        float out;
        function(&out, &x, 1);
        return out;
    }

    // The largest error in units of the last place of the result (of the smallest normal's below it), over every
    // `stride`-th float of [low, high].
    static double largest_error(ArrayFunction function, const std::function<double(double)>& exact, float low,
                                float high, uint32_t stride) {
        double worst = 0;
        const auto visit = [&](float x) {
            if (x < low || x > high) return;
            const double expected = exact(static_cast<double>(x));
            const double ulp = std::ldexp(1.0, std::max(std::ilogb(expected), -126) - 23);
            const double error = std::fabs(static_cast<double>(call(function, x)) - expected) / ulp;
            if (error > worst || std::isnan(error)) worst = error;
        };
        for (uint32_t bits = 0; bits < 0x7f800000u; bits += stride) {
            visit(std::bit_cast<float>(bits));
            visit(std::bit_cast<float>(bits | 0x80000000u));
        }
        return worst;
    }
};

TEST_P(VectorMathTest, ExpIsWithinTwoUlpWhereverTheResultIsFinite) {
    const double error = largest_error(
        probe().exp, [](double x) { return std::exp(x); }, -103.97f, 88.722f, 1009);
    EXPECT_LE(error, 2.0);
    RecordProperty("ulp", std::to_string(error));
}

TEST_P(VectorMathTest, ExpAtTheEnds) {
    const ArrayFunction exp = probe().exp;
    EXPECT_EQ(call(exp, 0.0f), 1.0f);
    EXPECT_EQ(call(exp, -0.0f), 1.0f);
    for (float x : {-104.0f, -1e4f, -FLT_MAX, -kInf}) EXPECT_EQ(call(exp, x), 0.0f) << x;
    for (float x : {88.73f, 1e4f, FLT_MAX, kInf}) EXPECT_EQ(call(exp, x), kInf) << x;
    EXPECT_EQ(call(exp, -103.5f), 0x1p-149f);
    EXPECT_TRUE(std::isnan(call(exp, std::numeric_limits<float>::quiet_NaN())));
}

TEST_P(VectorMathTest, Exp2IsWithinThreeUlpUpToOne) {
    EXPECT_LE(largest_error(
                  probe().exp2, [](double x) { return std::exp2(x); }, -149.9f, 1.0f, 1009),
              3.0);
    const ArrayFunction exp2 = probe().exp2;
    for (float x : {0.0f, -0.0f}) EXPECT_EQ(call(exp2, x), 1.0f);
    for (float x : {-151.0f, -1e4f, -FLT_MAX, -kInf}) EXPECT_EQ(call(exp2, x), 0.0f) << x;
    EXPECT_EQ(call(exp2, -149.0f), 0x1p-149f);
    EXPECT_TRUE(std::isnan(call(exp2, std::numeric_limits<float>::quiet_NaN())));
}

TEST_P(VectorMathTest, SigmoidAndSiluKeepTheirRelativePrecision) {
    const auto sigmoid = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
    EXPECT_LE(largest_error(probe().sigmoid, sigmoid, -80.0f, FLT_MAX, 4001), 4.0);
    EXPECT_LE(largest_error(
                  probe().silu, [&](double x) { return x * sigmoid(x); }, -80.0f, FLT_MAX, 4001),
              5.0);
}

TEST_P(VectorMathTest, SigmoidAndSiluAtTheEnds) {
    EXPECT_EQ(call(probe().sigmoid, 0.0f), 0.5f);
    for (float x : {-1e3f, -FLT_MAX, -kInf}) EXPECT_EQ(call(probe().sigmoid, x), 0.0f) << x;
    for (float x : {1e3f, FLT_MAX, kInf}) EXPECT_EQ(call(probe().sigmoid, x), 1.0f) << x;
    for (float x : {-1e3f, -FLT_MAX}) EXPECT_EQ(call(probe().silu, x), 0.0f) << x;
    for (float x : {1e3f, FLT_MAX}) EXPECT_EQ(call(probe().silu, x), x);
}

TEST_P(VectorMathTest, SoftplusKeepsItsRelativePrecision) {
    const auto softplus = [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); };
    EXPECT_LE(largest_error(probe().softplus, softplus, -87.0f, FLT_MAX, 4001), 4.0);
    EXPECT_LE(largest_error(
                  probe().log1p_unit, [](double y) { return std::log1p(y); }, 0.0f, 1.0f, 4001),
              3.0);
    for (float x : {20.001f, 25.0f, 1e3f, FLT_MAX}) EXPECT_EQ(call(probe().softplus, x), x);
    for (float x : {-200.0f, -FLT_MAX, -kInf}) EXPECT_EQ(call(probe().softplus, x), 0.0f);
}

TEST_P(VectorMathTest, ALaneDependsOnItsOwnValueOnly) {
    Random random(1);
    const VectorMathProbe functions = probe();
    for (ArrayFunction function :
         {functions.exp, functions.exp2, functions.sigmoid, functions.silu, functions.softplus}) {
        for (int n = 1; n <= 70; ++n) {
            std::vector<float> x = random.values(static_cast<size_t>(n), -30.0f, 30.0f);
            x[static_cast<size_t>(random.index(n))] = -kInf;
            std::vector<float> out(x.size() + 1, 7.0f);
            function(out.data(), x.data(), n);
            EXPECT_EQ(out.back(), 7.0f) << "wrote past the end of " << n;
            for (size_t i = 0; i < x.size(); ++i) {
                const float alone = call(function, x[i]);
                EXPECT_TRUE(same_bits(&out[i], &alone, 1));
            }
        }
    }
}

COLUGO_EACH_TIER(VectorMathTest);

}  // namespace
}  // namespace colugo::kernels
