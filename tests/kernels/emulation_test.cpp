// On a CPU that has avx512, the emulation the other tests rely on elsewhere against the real instructions, bit for bit.
// What bf16 multipliers do with a product's last bit is theirs, so the tiers above are not compared.
#include "kernels/matmul_case.h"

namespace colugo::kernels {
namespace {

TEST(EmulationTest, MultipliesLikeTheHardware) {
    if (!tier_available(Tier::avx512)) GTEST_SKIP() << "the CPU has no avx512";
    constexpr int kN = 40, kK = 592, kRows = 17;
    const KernelTable emulated = emulated_table(Tier::avx512);
    const KernelTable& real = kernel_table(Tier::avx512);
    EXPECT_NE(emulated.matmul, real.matmul);
    Random random(1);
    for (const MatmulPair& pair : kMatmulPairs) {
        SCOPED_TRACE(pair.name);
        const TestWeight weight(pair, kN, kK, random);
        const std::vector<float> x = random_rows(random, kRows, kK);
        std::vector<float> y(kRows * kN), expected(y.size());
        run_matmul(emulated, weight, x, kRows, y, kN, false);
        run_matmul(real, weight, x, kRows, expected, kN, false);
        EXPECT_TRUE(same_bits(y.data(), expected.data(), y.size()));
    }
}

TEST(EmulationTest, RowOperationsLikeTheHardware) {
    if (!tier_available(Tier::avx512)) GTEST_SKIP() << "the CPU has no avx512";
    constexpr int kCount = 77;
    const KernelTable emulated = emulated_table(Tier::avx512);
    const KernelTable& real = kernel_table(Tier::avx512);
    Random random(2);
    const std::vector<float> x = random.values(kCount, -9.0f, 9.0f), gate = random.values(kCount, -9.0f, 9.0f);
    std::vector<float> y(kCount), expected(kCount);
    emulated.gated_rms_norm(y.data(), x.data(), x.data(), gate.data(), kCount, 1e-6f);
    real.gated_rms_norm(expected.data(), x.data(), x.data(), gate.data(), kCount, 1e-6f);
    EXPECT_TRUE(same_bits(y.data(), expected.data(), y.size()));
    emulated.silu_mul(y.data(), gate.data(), x.data(), kCount);
    real.silu_mul(expected.data(), gate.data(), x.data(), kCount);
    EXPECT_TRUE(same_bits(y.data(), expected.data(), y.size()));
}

}  // namespace
}  // namespace colugo::kernels
