#include <cmath>

#include "base/float_formats.h"
#include "kernels/each_tier.h"

namespace colugo::kernels {
namespace {

constexpr float kGuard = 12345.0f;

// Each op on every row length that exercises full vectors and tails.
class RowOpsTest : public EachTier {
 protected:
    static std::vector<int> lengths() {
        std::vector<int> out;
        for (int n = 1; n <= 70; ++n) out.push_back(n);
        for (int n : {127, 128, 1024, 5120, 17408}) out.push_back(n);
        return out;
    }

    static std::vector<float> guarded(int n) { return std::vector<float>(static_cast<size_t>(n) + 1, kGuard); }
    static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

    // |out - expected| within `ulps` float roundings of the expected value, and nothing written past the row.
    template <class Expected>
    static void expect_row(const std::vector<float>& out, double ulps, Expected expected) {
        EXPECT_EQ(out.back(), kGuard);
        for (size_t i = 0; i + 1 < out.size(); ++i) {
            const double value = expected(i);
            ASSERT_NEAR(out[i], value, ulps * 0x1p-24 * std::fabs(value) + 1e-30) << i << " of " << out.size() - 1;
        }
    }
};

double sum_of_squares(const std::vector<float>& x) {
    double sum = 0;
    for (float value : x) sum += static_cast<double>(value) * value;
    return sum;
}

TEST_P(RowOpsTest, RmsNorm) {
    Random random(1);
    for (float scale : {1e-3f, 1.0f, 300.0f}) {  // at 1e-3 eps is as large as the mean square
        for (int n : lengths()) {
            const auto size = static_cast<size_t>(n);
            const std::vector<float> x = random.values(size, -scale, scale);
            const std::vector<float> weight = random.values(size);
            std::vector<float> out = guarded(n);
            table.rms_norm(out.data(), x.data(), weight.data(), n, 1e-6f);
            const double factor = 1.0 / std::sqrt(sum_of_squares(x) / n + 1e-6);
            expect_row(out, 40, [&](size_t i) { return x[i] * factor * (1.0 + static_cast<double>(weight[i])); });
        }
    }
}

TEST_P(RowOpsTest, GatedRmsNorm) {
    Random random(2);
    for (int n : lengths()) {
        const auto size = static_cast<size_t>(n);
        const std::vector<float> x = random.values(size, -2e-3f, 2e-3f);
        const std::vector<float> weight = random.values(size, 0.5f, 1.5f);
        const std::vector<float> gate = random.values(size, -6.0f, 6.0f);
        std::vector<float> out = guarded(n);
        table.gated_rms_norm(out.data(), x.data(), weight.data(), gate.data(), n, 1e-6f);
        const double factor = 1.0 / std::sqrt(sum_of_squares(x) / n + 1e-6);
        expect_row(out, 40, [&](size_t i) { return x[i] * factor * weight[i] * gate[i] * sigmoid(gate[i]); });
    }
}

TEST_P(RowOpsTest, L2NormAddsEpsToTheSum) {
    Random random(3);
    for (int n : lengths()) {
        const std::vector<float> x = random.values(static_cast<size_t>(n), -1e-3f, 1e-3f);
        std::vector<float> out = guarded(n);
        table.l2_norm(out.data(), x.data(), n, 1e-6f, 0.0883883461f);
        const double factor = 0.0883883461f / std::sqrt(sum_of_squares(x) + 1e-6);
        expect_row(out, 40, [&](size_t i) { return x[i] * factor; });
    }
}

TEST_P(RowOpsTest, NormsMayWriteOverTheirInput) {
    Random random(4);
    std::vector<float> x = random.values(129);
    const std::vector<float> weight = random.values(129);
    std::vector<float> out(129);
    table.rms_norm(out.data(), x.data(), weight.data(), 129, 1e-6f);
    table.rms_norm(x.data(), x.data(), weight.data(), 129, 1e-6f);
    EXPECT_TRUE(same_bits(out.data(), x.data(), 129));
}

TEST_P(RowOpsTest, RopeRotatesHalfSplitPairs) {
    Random random(5);
    for (int half = 1; half <= 70; ++half) {
        const auto pairs = static_cast<size_t>(half);
        std::vector<float> cos_sin(2 * pairs);
        std::vector<double> angle(pairs);
        for (size_t i = 0; i < pairs; ++i) {
            angle[i] = 1234.0 * std::pow(1e7, -static_cast<double>(i) / half);
            cos_sin[i] = static_cast<float>(std::cos(angle[i]));
            cos_sin[pairs + i] = static_cast<float>(std::sin(angle[i]));
        }
        const std::vector<float> x = random.values(2 * pairs + 3);
        std::vector<float> out = x;
        table.rope(out.data(), cos_sin.data(), 2 * half);
        for (size_t i = 0; i < pairs; ++i) {
            EXPECT_NEAR(out[i], x[i] * std::cos(angle[i]) - x[pairs + i] * std::sin(angle[i]), 3e-7);
            EXPECT_NEAR(out[pairs + i], x[pairs + i] * std::cos(angle[i]) + x[i] * std::sin(angle[i]), 3e-7);
        }
        EXPECT_TRUE(same_bits(out.data() + 2 * pairs, x.data() + 2 * pairs, 3)) << "touched what is not rotated";
    }
}

TEST_P(RowOpsTest, Activations) {
    Random random(6);
    for (int n : lengths()) {
        const auto size = static_cast<size_t>(n);
        const std::vector<float> gate = random.values(size, -20.0f, 20.0f);
        const std::vector<float> up = random.values(size);
        std::vector<float> out = guarded(n);
        table.silu_mul(out.data(), gate.data(), up.data(), n);
        expect_row(out, 12, [&](size_t i) { return gate[i] * sigmoid(gate[i]) * up[i]; });
        std::copy(up.begin(), up.end(), out.begin());
        table.sigmoid_mul(out.data(), gate.data(), n);
        expect_row(out, 12, [&](size_t i) { return sigmoid(gate[i]) * up[i]; });
    }
}

TEST_P(RowOpsTest, ConvSiluWeighsTheOldestFirst) {
    Random random(7);
    constexpr int kTaps = 4;
    for (int n : lengths()) {
        const auto size = static_cast<size_t>(n);
        const std::vector<float> weight = random.values(kTaps * size);
        std::vector<std::vector<float>> inputs;
        const float* pointers[kTaps];
        for (int tap = 0; tap < kTaps; ++tap) inputs.push_back(random.values(size, -4.0f, 4.0f));
        for (int tap = 0; tap < kTaps; ++tap) pointers[tap] = inputs[static_cast<size_t>(tap)].data();
        std::vector<float> out = guarded(n);
        table.conv_silu(out.data(), pointers, weight.data(), kTaps, n);
        EXPECT_EQ(out.back(), kGuard);
        for (size_t i = 0; i < size; ++i) {
            double sum = 0;
            for (size_t tap = 0; tap < kTaps; ++tap)
                sum += static_cast<double>(weight[tap * size + i]) * inputs[tap][i];
            ASSERT_NEAR(out[i], sum * sigmoid(sum), 4e-6);
        }
    }
}

TEST_P(RowOpsTest, GdnGates) {
    Random random(8);
    for (int n : lengths()) {
        const auto size = static_cast<size_t>(n);
        const std::vector<float> b = random.values(size, -8.0f, 8.0f);
        const std::vector<float> a = random.values(size, -30.0f, 30.0f);
        const std::vector<float> rate = random.values(size, -16.0f, -0.01f);
        const std::vector<float> bias = random.values(size);
        std::vector<float> beta = guarded(n);
        std::vector<float> g = guarded(n);
        table.gdn_gates(beta.data(), g.data(), b.data(), a.data(), rate.data(), bias.data(), n);
        expect_row(beta, 8, [&](size_t i) { return sigmoid(b[i]); });
        // a + dt_bias is an fp32 sum: below 0, where softplus is e^x, its rounding is relative to |x|.
        expect_row(g, 40,
                   [&](size_t i) { return rate[i] * std::log1p(std::exp(static_cast<double>(a[i] + bias[i]))); });
    }
}

TEST_P(RowOpsTest, RoundBf16) {
    Random random(9);
    for (int n : lengths()) {
        std::vector<float> x = random.values(static_cast<size_t>(n), -300.0f, 300.0f);
        if (n > 3) {  // ties to even, both ways, and a carry into the exponent
            x[0] = 1.00390625f;
            x[1] = 1.01171875f;
            x[2] = 1.998046875f;
        }
        std::vector<float> out = x;
        out.push_back(kGuard);
        table.round_bf16(out.data(), n);
        EXPECT_EQ(out.back(), kGuard);
        for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(out[i], round_to_bf16(x[i]));
    }
}

// The same values give the same bits wherever they stand in a row of whatever length.
TEST_P(RowOpsTest, ElementsDependOnThemselvesOnly) {
    Random random(10);
    const std::vector<float> gate = random.values(70, -9.0f, 9.0f);
    const std::vector<float> up = random.values(70);
    std::vector<float> whole(70);
    table.silu_mul(whole.data(), gate.data(), up.data(), 70);
    for (int n = 1; n <= 17; ++n) {
        for (int begin = 0; begin + n <= 70; begin += 5) {
            std::vector<float> out(static_cast<size_t>(n));
            table.silu_mul(out.data(), gate.data() + begin, up.data() + begin, n);
            EXPECT_TRUE(same_bits(out.data(), whole.data() + begin, out.size()));
        }
    }
}

COLUGO_EACH_TIER(RowOpsTest);

}  // namespace
}  // namespace colugo::kernels
