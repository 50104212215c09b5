#include <cmath>

#include "kernels/matmul_case.h"

namespace colugo::kernels {
namespace {

constexpr ActivationFormat kFormats[] = {
    ActivationFormat::f32,          ActivationFormat::bf16,  ActivationFormat::bf16_block16, ActivationFormat::fp8,
    ActivationFormat::fp8_group128, ActivationFormat::nvfp4, ActivationFormat::int8};

class PrepareActivationTest : public EachTier {
 protected:
    // Formats the tier multiplies by.
    bool uses(ActivationFormat format) const {
        return format != ActivationFormat::bf16_block16 ||
               table.matmul_activation(WeightFormat::nvfp4, ActivationFormat::bf16) == format;
    }

    // Every value of every row is, bit for bit, what the definition gives.
    void expect_definition(ActivationFormat format, float input_scale, const std::vector<float>& x, int rows, int k) {
        const size_t row_bytes = table.activation_row_bytes(format, k);
        EXPECT_EQ(row_bytes % 64, 0u);
        Buffer out(static_cast<size_t>(rows) * row_bytes);
        std::memset(out.data(), 0xa5, static_cast<size_t>(rows) * row_bytes);
        table.prepare_activation(out.data(), format, input_scale, x.data(), k, rows, k);
        for (int row = 0; row < rows; ++row) {
            const float* values = &x[static_cast<size_t>(row) * static_cast<size_t>(k)];
            const auto expected = quantize_row(format, input_scale, values, k);
            for (int i = 0; i < k; ++i) {
                const QuantizedValue& q = expected[static_cast<size_t>(i)];
                const float want = q.value * q.scale;
                const float got =
                    table.activation_value(out.data() + static_cast<size_t>(row) * row_bytes, format, k, i);
                ASSERT_EQ(got, want) << "format " << static_cast<int>(format) << " k " << k << " row " << row << " i "
                                     << i << " x " << values[i] << " input_scale " << input_scale;
            }
        }
    }

    void expect_definition_of_all(const std::vector<float>& x, int rows, int k) {
        for (ActivationFormat format : kFormats) {
            if (!uses(format)) continue;
            for (float input_scale : {1.0f, 0.0037f, 12.5f}) expect_definition(format, input_scale, x, rows, k);
        }
    }
};

TEST_P(PrepareActivationTest, RandomRows) {
    Random random(1);
    for (int k : {1, 7, 16, 48, 64, 80, 127, 128, 129, 272, 1024}) {
        expect_definition_of_all(random_rows(random, 3, k), 3, k);
    }
}

// Magnitudes from the smallest denormal to the largest float, signed zeros among them.
TEST_P(PrepareActivationTest, AllMagnitudes) {
    Random random(2);
    std::vector<float> x(4096);
    for (size_t i = 0; i < x.size(); ++i) {
        const auto bits = static_cast<uint32_t>(random.index(1 << 24)) << 8 | static_cast<uint32_t>(random.index(256));
        x[i] = std::bit_cast<float>(bits);
        if (!std::isfinite(x[i]) || i % 37 == 0) x[i] = i % 2 == 0 ? 0.0f : -0.0f;
    }
    expect_definition_of_all(x, 16, 256);
    // The same within a factor of 2^12 in each block, where codes are not all zero or saturated.
    for (size_t i = 0; i < x.size(); ++i) {
        const int exponent = static_cast<int>(i / 16 % 160) - 120;
        x[i] = std::ldexp(random.uniform(-1.0f, 1.0f), exponent + random.index(12));
    }
    expect_definition_of_all(x, 16, 256);
}

TEST_P(PrepareActivationTest, ZeroRows) {
    expect_definition_of_all(std::vector<float>(320), 1, 320);
}

// The values half way between two codes, and their neighbours.
TEST_P(PrepareActivationTest, Ties) {
    std::vector<float> e2m1 = {6.0f};  // keeps the block's scale at 1
    for (float tie : {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f}) {
        for (float value : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 9.0f)}) {
            e2m1.push_back(value);
            e2m1.push_back(-value);
            if (e2m1.size() % 16 == 0) e2m1.push_back(6.0f);
        }
    }
    expect_definition(ActivationFormat::nvfp4, 1.0f, e2m1, 1, static_cast<int>(e2m1.size()));
    // Scaled by a power of two the same blocks have the same codes.
    for (float& value : e2m1) value *= 0.125f;
    expect_definition(ActivationFormat::nvfp4, 1.0f, e2m1, 1, static_cast<int>(e2m1.size()));

    std::vector<float> e4m3;
    for (int code = 0; code < 0x7e; ++code) {
        const float low = e4m3_to_f32(static_cast<uint8_t>(code));
        const float tie = (low + e4m3_to_f32(static_cast<uint8_t>(code + 1))) / 2;
        for (float value : {low, tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 999.0f)}) {
            e4m3.push_back(value);
            e4m3.push_back(-value);
        }
    }
    for (float value : {448.0f, 463.9f, 464.0f, 480.0f, 1e30f}) e4m3.push_back(value);
    expect_definition(ActivationFormat::fp8, 1.0f, e4m3, 1, static_cast<int>(e4m3.size()));
    // As block scales: amax / 6 hits the ties of e4m3.
    std::vector<float> scales;
    for (float value : e4m3) {
        scales.push_back(value * 6.0f);
        for (int i = 1; i < 16; ++i) scales.push_back(value * 0.37f * static_cast<float>(i));
    }
    expect_definition(ActivationFormat::nvfp4, 1.0f, scales, 1, static_cast<int>(scales.size()));
}

// What bf16_block16 loses against bf16: nothing within a factor 2^7 of the block's largest, at most 2^-15 of it below.
TEST_P(PrepareActivationTest, Block16IsNearlyBf16) {
    if (!uses(ActivationFormat::bf16_block16)) GTEST_SKIP() << "the tier multiplies bf16 itself";
    constexpr int kK = 4096;
    Random random(4);
    std::vector<float> x(kK);
    for (float& value : x) value = std::ldexp(random.uniform(-1.0f, 1.0f), random.index(24) - 12);
    Buffer out(table.activation_row_bytes(ActivationFormat::bf16_block16, kK));
    table.prepare_activation(out.data(), ActivationFormat::bf16_block16, 1.0f, x.data(), kK, 1, kK);
    int rounded = 0;
    for (int i = 0; i < kK; ++i) {
        const float bf16 = round_to_bf16(x[static_cast<size_t>(i)]);
        const float largest = round_to_bf16(max_abs(&x[static_cast<size_t>(i / 16 * 16)], 16));
        const float value = table.activation_value(out.data(), ActivationFormat::bf16_block16, kK, i);
        if (std::fabs(bf16) >= largest * 0x1p-7f) {
            ASSERT_EQ(value, bf16) << i;
        } else {
            ASSERT_LE(std::fabs(value - bf16), largest * 0x1p-15f) << i;
            rounded += value != bf16;
        }
    }
    EXPECT_GT(rounded, 0);
}

// A NaN or an infinity gives codes and scales in range or NaN, and touches no other block's.
TEST_P(PrepareActivationTest, NotFinite) {
    constexpr int kK = 256;
    Random random(3);
    const std::vector<float> clean = random_rows(random, 1, kK);
    for (float bad : {std::nanf(""), -std::nanf(""), INFINITY, -INFINITY}) {
        for (ActivationFormat format : kFormats) {
            if (!uses(format)) continue;
            std::vector<float> x = clean;
            x[37] = bad;
            Buffer out(table.activation_row_bytes(format, kK)), reference(out.size());
            table.prepare_activation(out.data(), format, 0.01f, x.data(), kK, 1, kK);
            table.prepare_activation(reference.data(), format, 0.01f, clean.data(), kK, 1, kK);
            for (int i = 0; i < kK; ++i) {
                const float value = table.activation_value(out.data(), format, kK, i);
                if (format == ActivationFormat::nvfp4) {
                    EXPECT_TRUE(std::isnan(value) || std::fabs(value) <= 6.0f * 448.0f);
                }
                const int reach = format == ActivationFormat::int8                                                ? kK
                                  : format == ActivationFormat::fp8_group128                                      ? 128
                                  : format == ActivationFormat::nvfp4 || format == ActivationFormat::bf16_block16 ? 16
                                                                                                                  : 1;
                if (i / reach != 37 / reach) {
                    EXPECT_EQ(value, table.activation_value(reference.data(), format, kK, i)) << i;
                } else if (std::isnan(bad) && i == 37) {
                    EXPECT_TRUE(std::isnan(value)) << "format " << static_cast<int>(format);
                }
            }
        }
    }
}

COLUGO_EACH_TIER(PrepareActivationTest);

}  // namespace
}  // namespace colugo::kernels
