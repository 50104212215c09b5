// The number formats weights, activations and caches are stored in, converted one value at a time. These are the
// definitions; kernels do the same many values at once and are tested against them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colugo {

enum class DType : uint8_t { f32, f16, bf16, fp8_e4m3, u8, i32, i64 };

size_t dtype_size(DType dtype);
std::string_view dtype_name(DType dtype);

inline float bf16_to_f32(uint16_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Round to nearest, ties to even. NaN stays NaN.
inline uint16_t f32_to_bf16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// The value bf16 storage would give back.
inline float round_to_bf16(float value) {
    return bf16_to_f32(f32_to_bf16(value));
}

float f16_to_f32(uint16_t bits);

// OCP FP8 E4M3 (no infinities; 0x7f and 0xff are NaN; largest finite 448, smallest 2^-9).
float e4m3_to_f32(uint8_t bits);
// Round to nearest, ties to even, saturating at +-448; NaN becomes 0x7f.
uint8_t f32_to_e4m3(float value);

// OCP FP4 E2M1: codes 0..7 = 0, 0.5, 1, 1.5, 2, 3, 4, 6; 8..15 the negatives.
inline constexpr float kE2m1Values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                          -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
// Round to nearest, ties to even code, saturating at +-6. A negative value that rounds to zero gives code 8.
uint8_t f32_to_e2m1(float value);

inline constexpr float kE4m3Max = 448.0f;
inline constexpr float kE2m1Max = 6.0f;

}  // namespace colugo
