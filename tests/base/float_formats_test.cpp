#include "base/float_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace colugo {
namespace {

// The nearest of a format's values, found by trying all of them; ties go to the even code, values past the largest to
// the largest.
template <typename Decode>
uint8_t nearest_code(float magnitude, int largest_code, Decode decode) {
    const double target = std::min(static_cast<double>(magnitude), 2 * decode(static_cast<uint8_t>(largest_code)));
    int best = 0;
    for (int code = 1; code <= largest_code; ++code) {
        const double closest = std::fabs(target - decode(static_cast<uint8_t>(best)));
        const double here = std::fabs(target - decode(static_cast<uint8_t>(code)));
        if (here < closest || (here == closest && code % 2 == 0)) best = code;
    }
    return static_cast<uint8_t>(best);
}

double e4m3(uint8_t code) {
    const int exponent = code >> 3 & 0xf;
    const int mantissa = code & 7;
    return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}

TEST(FloatFormatsTest, E4m3Values) {
    for (int code = 0; code < 256; ++code) {
        const float value = e4m3_to_f32(static_cast<uint8_t>(code));
        if ((code & 0x7f) == 0x7f) {
            EXPECT_TRUE(std::isnan(value)) << code;
        } else {
            EXPECT_EQ(value, code < 128 ? e4m3(static_cast<uint8_t>(code)) : -e4m3(static_cast<uint8_t>(code & 0x7f)));
            EXPECT_EQ(std::signbit(value), code >= 128);
        }
    }
    EXPECT_EQ(e4m3_to_f32(0x7e), kE4m3Max);
}

TEST(FloatFormatsTest, E4m3RoundTrip) {
    for (int code = 0; code < 256; ++code) {
        if ((code & 0x7f) == 0x7f) continue;
        EXPECT_EQ(f32_to_e4m3(e4m3_to_f32(static_cast<uint8_t>(code))), code);
    }
}

TEST(FloatFormatsTest, E4m3RoundsToNearestEven) {
    std::mt19937 random(1);
    const auto check = [](float value) {
        const auto expected = nearest_code(std::fabs(value), 0x7e, e4m3);
        ASSERT_EQ(f32_to_e4m3(value), std::signbit(value) ? expected | 0x80 : expected) << value;
    };
    for (int code = 0; code < 0x7e; ++code) {
        const auto tie =
            static_cast<float>((e4m3(static_cast<uint8_t>(code)) + e4m3(static_cast<uint8_t>(code + 1))) / 2);
        for (float value : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e9f)}) {
            check(value);
            check(-value);
        }
    }
    std::uniform_real_distribution<float> exponent(-14.0f, 10.0f);
    for (int i = 0; i < 20000; ++i) check((random() & 1u ? 1.0f : -1.0f) * std::exp2(exponent(random)));
}

TEST(FloatFormatsTest, E4m3Saturates) {
    for (float value : {448.0f, 464.0f, 480.0f, 1e9f, std::numeric_limits<float>::infinity()}) {
        EXPECT_EQ(f32_to_e4m3(value), 0x7e);
        EXPECT_EQ(f32_to_e4m3(-value), 0xfe);
    }
    EXPECT_EQ(f32_to_e4m3(std::numeric_limits<float>::quiet_NaN()), 0x7f);
    EXPECT_EQ(f32_to_e4m3(std::numeric_limits<float>::denorm_min()), 0);
    EXPECT_EQ(f32_to_e4m3(-0.0f), 0x80);
}

TEST(FloatFormatsTest, E2m1RoundsToNearestEven) {
    const auto decode = [](uint8_t code) { return static_cast<double>(kE2m1Values[code]); };
    const auto check = [&](float value) {
        const auto expected = nearest_code(std::fabs(value), 7, decode);
        ASSERT_EQ(f32_to_e2m1(value), std::signbit(value) ? expected | 8 : expected) << value;
    };
    for (int i = 0; i <= 8192; ++i) {
        const float value = static_cast<float>(i) / 1024.0f;
        check(value);
        check(-value);
        check(std::nextafter(value, 100.0f));
        check(std::nextafter(value, 0.0f));
    }
    check(1e30f);
    check(-std::numeric_limits<float>::infinity());
    EXPECT_EQ(f32_to_e2m1(std::numeric_limits<float>::quiet_NaN()) & 7, 0);
}

TEST(FloatFormatsTest, E2m1RoundTrip) {
    for (uint8_t code = 0; code < 16; ++code) EXPECT_EQ(f32_to_e2m1(kE2m1Values[code]), code);
}

TEST(FloatFormatsTest, Bf16RoundsToNearestEven) {
    EXPECT_EQ(f32_to_bf16(1.0f), 0x3f80);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // a tie, to even
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
    EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
    for (uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xffc00000u}) {
        EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(nan)))));
    }
    for (uint32_t code = 0; code < 0x10000u; ++code) {
        const float value = bf16_to_f32(static_cast<uint16_t>(code));
        if (std::isnan(value)) continue;
        ASSERT_EQ(f32_to_bf16(value), code);
    }
}

TEST(FloatFormatsTest, F16Values) {
    EXPECT_EQ(f16_to_f32(0x3c00), 1.0f);
    EXPECT_EQ(f16_to_f32(0xc000), -2.0f);
    EXPECT_EQ(f16_to_f32(0x7bff), 65504.0f);
    EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
    EXPECT_EQ(f16_to_f32(0x03ff), 1023 * 0x1p-24f);
    EXPECT_TRUE(std::signbit(f16_to_f32(0x8000)));
    EXPECT_TRUE(std::isinf(f16_to_f32(0x7c00)));
    EXPECT_TRUE(std::isnan(f16_to_f32(0x7c01)));
    // Order and spacing: every code's value is the mean of its neighbours' inside a binade.
    for (uint32_t code = 1; code < 0x7bff; ++code) {
        ASSERT_LT(f16_to_f32(static_cast<uint16_t>(code - 1)), f16_to_f32(static_cast<uint16_t>(code)));
    }
}

TEST(FloatFormatsTest, NamesAndSizes) {
    EXPECT_EQ(dtype_size(DType::fp8_e4m3), 1u);
    EXPECT_EQ(dtype_size(DType::bf16), 2u);
    EXPECT_EQ(dtype_size(DType::f32), 4u);
    EXPECT_EQ(dtype_size(DType::i64), 8u);
    EXPECT_EQ(dtype_name(DType::fp8_e4m3), "fp8_e4m3");
}

}  // namespace
}  // namespace colugo
