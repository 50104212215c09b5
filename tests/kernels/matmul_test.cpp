#include <algorithm>
#include <cmath>

#include "kernels/matmul_case.h"

namespace colugo::kernels {
namespace {

class MatmulTest : public EachTier {
 protected:
    // A pair a tier computes; the others are left to matmul_activation to replace.
    bool runs(const MatmulPair& pair) const {
        return table.matmul_activation(pair.weight, pair.activation) == pair.activation ||
               pair.activation == ActivationFormat::bf16;
    }
};

struct Reference {
    double value;      // the product in double precision
    double magnitude;  // the same sum of absolute values
};

std::vector<QuantizedValue> quantized(const TestWeight& weight, const float* x) {
    return quantize_row(weight.packed.activation, weight.packed.input_scale, x, weight.packed.k);
}

Reference reference(const TestWeight& weight, const std::vector<QuantizedValue>& row, int n) {
    const PackedWeight& packed = weight.packed;
    Reference out{0, 0};
    for (int k = 0; k < packed.k; ++k) {
        const double term = weight.value(n, k) * row[static_cast<size_t>(k)].product();
        out.value += term;
        out.magnitude += std::fabs(term);
    }
    out.value *= static_cast<double>(packed.alpha);
    out.magnitude *= static_cast<double>(packed.alpha);
    return out;
}

// Rounding errors of a chain of k fused multiply-adds of random signs, in units of the terms' absolute sum; a wrong
// code is off by about 1 / k of that sum, thousands of times as much.
double tolerance(const TestWeight& weight, const Reference& expected) {
    return 0x1p-24 * (4.0 + std::sqrt(static_cast<double>(weight.packed.k))) * expected.magnitude + 1e-30;
}

int k_unit(const MatmulPair& pair) {
    return pair.weight == WeightFormat::nvfp4 ? 16 : 1;
}

TEST_P(MatmulTest, EqualsTheProductInDoublePrecision) {
    Random random(1);
    for (const MatmulPair& pair : kMatmulPairs) {
        if (!runs(pair)) continue;
        SCOPED_TRACE(pair.name);
        for (int n : {1, 15, 16, 17, 100, 150}) {
            for (int k : {1, 16, 48, 63, 64, 80, 128, 192, 272, 320, 1000}) {
                if (k % k_unit(pair) != 0) continue;
                const int rows = 1 + random.index(9);
                const TestWeight weight(pair, n, k, random);
                const std::vector<float> x = random_rows(random, rows, k);
                const int64_t ldy = n + 3;
                std::vector<float> y(static_cast<size_t>(rows * ldy), 7.0f);
                run_matmul(table, weight, x, rows, y, ldy, false);
                for (int row = 0; row < rows; ++row) {
                    const auto values = quantized(weight, &x[static_cast<size_t>(row * k)]);
                    for (int column = 0; column < ldy; ++column) {
                        const float value = y[static_cast<size_t>(row * ldy + column)];
                        if (column >= n) {
                            ASSERT_EQ(value, 7.0f) << "written past column " << n;
                            continue;
                        }
                        const Reference expected = reference(weight, values, column);
                        ASSERT_NEAR(value, expected.value, tolerance(weight, expected))
                            << "n " << n << " k " << k << " row " << row << " column " << column;
                    }
                }
            }
        }
    }
}

TEST_P(MatmulTest, ToleranceSeesOneChangedCode) {
    Random random(2);
    for (const MatmulPair& pair : kMatmulPairs) {
        if (!runs(pair)) continue;
        SCOPED_TRACE(pair.name);
        TestWeight weight(pair, 16, 320, random);
        const std::vector<float> x(320, 1.0f);
        std::vector<float> y(16);
        // The lowest bit of the row's largest value; of f32's, one the sum shows.
        size_t largest = 5 * 320;
        for (size_t i = largest; i < 6 * 320; ++i) {
            if (std::fabs(weight.values[i]) > std::fabs(weight.values[largest])) largest = i;
        }
        switch (pair.weight) {
            case WeightFormat::f32:
                weight.source[largest * 4 + 2] ^= std::byte{1};
                break;
            case WeightFormat::bf16:
                weight.source[largest * 2] ^= std::byte{1};
                break;
            case WeightFormat::fp8:
            case WeightFormat::fp8_block128:
                weight.source[largest] ^= std::byte{1};
                break;
            case WeightFormat::nvfp4:
                weight.source[largest / 2] ^= largest % 2 == 0 ? std::byte{0x01} : std::byte{0x10};
                break;
        }
        weight.pack();
        run_matmul(table, weight, x, 1, y, 16, false);
        for (int column = 0; column < 16; ++column) {
            const Reference expected = reference(weight, quantized(weight, x.data()), column);
            const double error = std::fabs(y[static_cast<size_t>(column)] - expected.value);
            if (column == 5) {
                EXPECT_GT(error, tolerance(weight, expected));
            } else {
                EXPECT_LE(error, tolerance(weight, expected));
            }
        }
    }
}

TEST_P(MatmulTest, RowLaw) {
    constexpr int kN = 35;  // three panels: a pair and a partial one
    struct {
        int k;
        std::vector<int> rows;
    } const cases[] = {
        // More than one pass over the panels.
        {272, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 64, 200, 490}},
        // Several pieces of them.
        {1104, {2, 5, 12, 16, 17, 31, 32, 33, 47, 48, 63, 64}},
    };
    Random random(3);
    for (const MatmulPair& pair : kMatmulPairs) {
        if (!runs(pair)) continue;
        SCOPED_TRACE(pair.name);
        for (const auto& [k, row_counts] : cases) {
            const int most = row_counts.back();
            const TestWeight weight(pair, kN, k, random);
            const std::vector<float> x = random_rows(random, most, k);
            std::vector<float> single(static_cast<size_t>(most * kN));
            for (int row = 0; row < most; ++row) {
                const std::vector<float> one(x.begin() + row * k, x.begin() + (row + 1) * k);
                std::vector<float> y(kN);
                run_matmul(table, weight, one, 1, y, kN, false);
                std::copy(y.begin(), y.end(), single.begin() + row * kN);
            }
            for (int rows : row_counts) {
                std::vector<float> y(static_cast<size_t>(rows * kN));
                run_matmul(table, weight, x, rows, y, kN, false);
                ASSERT_TRUE(same_bits(y.data(), single.data(), y.size())) << "k " << k << ", " << rows << " rows";
            }
        }
    }
}

// Rows of a K long enough that a pass over the panels holds few of them.
TEST_P(MatmulTest, RowLawLongRows) {
    constexpr int kN = 16;
    constexpr int kK = 17408;
    Random random(4);
    for (const MatmulPair& pair : kMatmulPairs) {
        if (!runs(pair)) continue;
        SCOPED_TRACE(pair.name);
        const TestWeight weight(pair, kN, kK, random);
        const std::vector<float> x = random_rows(random, 14, kK);
        std::vector<float> y(14 * kN);
        run_matmul(table, weight, x, 14, y, kN, false);
        for (int row : {0, 11, 12, 13}) {
            const std::vector<float> one(x.begin() + row * kK, x.begin() + (row + 1) * kK);
            std::vector<float> alone(kN);
            run_matmul(table, weight, one, 1, alone, kN, false);
            ASSERT_TRUE(same_bits(&y[static_cast<size_t>(row * kN)], alone.data(), kN)) << "row " << row;
        }
    }
}

TEST_P(MatmulTest, PanelsAreIndependent) {
    constexpr int kN = 150;
    constexpr int kK = 208;
    Random random(5);
    for (const MatmulPair& pair : kMatmulPairs) {
        if (!runs(pair)) continue;
        SCOPED_TRACE(pair.name);
        const TestWeight weight(pair, kN, kK, random);
        for (int rows : {1, 2, 5, 20}) {
            const std::vector<float> x = random_rows(random, rows, kK);
            std::vector<float> whole(static_cast<size_t>(rows * kN)), cut(whole.size());
            run_matmul(table, weight, x, rows, whole, kN, false);
            run_matmul(table, weight, x, rows, cut, kN, false, {1, 1, 4, 9});
            ASSERT_TRUE(same_bits(whole.data(), cut.data(), whole.size()));
        }
    }
}

TEST_P(MatmulTest, AddsToWhatIsThere) {
    constexpr int kN = 21;
    constexpr int kK = 160;
    Random random(6);
    for (const MatmulPair& pair : kMatmulPairs) {
        if (!runs(pair)) continue;
        SCOPED_TRACE(pair.name);
        const TestWeight weight(pair, kN, kK, random);
        const std::vector<float> x = random_rows(random, 3, kK);
        const std::vector<float> before = random.values(3 * kN, -100.0f, 100.0f);
        std::vector<float> product(3 * kN), y = before;
        run_matmul(table, weight, x, 3, product, kN, false);
        run_matmul(table, weight, x, 3, y, kN, true);
        for (size_t i = 0; i < y.size(); ++i) {
            const double sum = static_cast<double>(before[i]) + product[i];
            ASSERT_NEAR(y[i], sum, 0x1p-23 * (std::fabs(sum) + std::fabs(product[i])));
        }
    }
}

// With one activation 1 and the rest 0 a product is the decoded weight, exactly.
TEST_P(MatmulTest, DecodesEveryFp8Code) {
    constexpr int kK = 256;
    Random random(7);
    for (ActivationFormat activation : {ActivationFormat::f32, ActivationFormat::bf16}) {
        TestWeight weight({WeightFormat::fp8, activation, ""}, 1, kK, random);
        for (int k = 0; k < kK; ++k) weight.source[static_cast<size_t>(k)] = static_cast<std::byte>(k);
        weight.pack();
        weight.packed.alpha = 1.0f;
        for (int k = 0; k < kK; ++k) {
            std::vector<float> x(kK);
            x[static_cast<size_t>(k)] = 1.0f;
            std::vector<float> y(1);
            run_matmul(table, weight, x, 1, y, 1, false);
            // Kernels have no e4m3 NaN: a loader refuses such weights.
            float expected = e4m3_to_f32(static_cast<uint8_t>(k));
            if ((k & 0x7f) == 0x7f) expected = k < 0x80 ? 480.0f : -480.0f;
            ASSERT_EQ(y[0], expected) << "code " << k;
        }
    }
}

TEST_P(MatmulTest, DecodesEveryNvfp4CodeAndScale) {
    constexpr int kK = 16 * 0x7f;  // a block for each scale
    constexpr int kN = 16;         // and for each code a row that has it at the place looked at
    Random random(8);
    for (ActivationFormat activation :
         {ActivationFormat::f32, ActivationFormat::bf16, ActivationFormat::bf16_block16, ActivationFormat::nvfp4}) {
        const MatmulPair pair{WeightFormat::nvfp4, activation, ""};
        if (!runs(pair)) continue;
        TestWeight weight(pair, kN, kK, random);
        for (size_t i = 0; i < weight.source.size(); ++i) {
            const size_t row = i / (kK / 2), k = i % (kK / 2) * 2;
            weight.source[i] = static_cast<std::byte>((k + row) % 16 | (k + 1 + row) % 16 << 4);
        }
        for (size_t i = 0; i < weight.scales.size(); ++i) weight.scales[i] = static_cast<std::byte>(i % (kK / 16));
        weight.pack();
        weight.packed.alpha = 1.0f;
        weight.packed.input_scale = 1.0f;
        for (int scale = 0; scale < kK / 16; ++scale) {
            const int k = scale * 16 + scale % 16;
            std::vector<float> x(kK);
            x[static_cast<size_t>(k)] = 6.0f;  // e4m3(6 / 6) = 1, e2m1(6) = 6
            std::vector<float> y(kN);
            run_matmul(table, weight, x, 1, y, kN, false);
            for (int row = 0; row < kN; ++row) {
                const float expected = kE2m1Values[(k + row) % 16] * e4m3_to_f32(static_cast<uint8_t>(scale));
                ASSERT_EQ(y[static_cast<size_t>(row)], 6.0f * expected) << "k " << k << " row " << row;
            }
        }
    }
}

// Every operand of a W4A4 block is exact, so the integer tiers agree to the bit.
TEST_P(MatmulTest, W4A4IsTheSameOnTheIntegerTiers) {
    if (table.tier == Tier::amx) GTEST_SKIP() << "multiplies in bf16";
    Random random(9);
    const TestWeight weight({WeightFormat::nvfp4, ActivationFormat::nvfp4, ""}, 48, 512, random);
    const std::vector<float> x = random_rows(random, 5, 512);
    std::vector<float> y(5 * 48), scalar(5 * 48);
    run_matmul(table, weight, x, 5, y, 48, false);
    run_matmul(kernel_table(Tier::scalar), weight, x, 5, scalar, 48, false);
    EXPECT_TRUE(same_bits(y.data(), scalar.data(), y.size()));
}

TEST_P(MatmulTest, NotFiniteActivationsStayInTheirRow) {
    constexpr int kK = 128;
    Random random(10);
    for (const MatmulPair& pair : kMatmulPairs) {
        if (!runs(pair)) continue;
        SCOPED_TRACE(pair.name);
        const TestWeight weight(pair, 16, kK, random);
        std::vector<float> x = random_rows(random, 4, kK);
        std::vector<float> clean(4 * 16), y(4 * 16);
        run_matmul(table, weight, x, 4, clean, 16, false);
        x[1 * kK + 7] = std::nanf("");
        x[2 * kK + 9] = INFINITY;
        run_matmul(table, weight, x, 4, y, 16, false);
        EXPECT_TRUE(same_bits(&y[0], &clean[0], 16));
        EXPECT_TRUE(same_bits(&y[48], &clean[48], 16));
        for (int i = 0; i < 16; ++i) EXPECT_TRUE(std::isnan(y[16 + static_cast<size_t>(i)]));
    }
}

COLUGO_EACH_TIER(MatmulTest);

}  // namespace
}  // namespace colugo::kernels
