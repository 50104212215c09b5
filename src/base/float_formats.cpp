#include "base/float_formats.h"

#include <cmath>

namespace colugo {

size_t dtype_size(DType dtype) {
    switch (dtype) {
        case DType::f32:
            return 4;
        case DType::f16:
            return 2;
        case DType::bf16:
            return 2;
        case DType::fp8_e4m3:
            return 1;
        case DType::u8:
            return 1;
        case DType::i32:
            return 4;
        case DType::i64:
            return 8;
    }
    return 0;
}

std::string_view dtype_name(DType dtype) {
    switch (dtype) {
        case DType::f32:
            return "f32";
        case DType::f16:
            return "f16";
        case DType::bf16:
            return "bf16";
        case DType::fp8_e4m3:
            return "fp8_e4m3";
        case DType::u8:
            return "u8";
        case DType::i32:
            return "i32";
        case DType::i64:
            return "i64";
    }
    return "unknown";
}

float f16_to_f32(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1fu;
    const uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(mantissa), -24), sign ? -1.0f : 1.0f);
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

float e4m3_to_f32(uint8_t bits) {
    const int exponent = (bits >> 3) & 0xf;
    const int mantissa = bits & 0x7;
    if ((bits & 0x7f) == 0x7f) return std::bit_cast<float>(0x7fc00000u);
    const float magnitude =
        exponent == 0
            ? static_cast<float>(mantissa) * 0x1p-9f
            : std::bit_cast<float>(static_cast<uint32_t>(exponent + 120) << 23 | static_cast<uint32_t>(mantissa) << 20);
    return bits & 0x80 ? -magnitude : magnitude;
}

uint8_t f32_to_e4m3(float value) {
    if (std::isnan(value)) return 0x7f;
    const uint32_t sign = std::bit_cast<uint32_t>(value) >> 31 << 7;
    const float magnitude = std::fabs(value);
    if (magnitude >= kE4m3Max) return static_cast<uint8_t>(sign | 0x7eu);
    // Below 2^-6 the spacing is a constant 2^-9; above, the 20 low mantissa bits of f32 are rounded away.
    if (magnitude < 0x1p-6f) {
        return static_cast<uint8_t>(sign | static_cast<uint32_t>(std::nearbyint(magnitude * 512.0f)));
    }
    const uint32_t bits = std::bit_cast<uint32_t>(magnitude);
    const uint32_t rounded = bits + 0x7ffffu + ((bits >> 20) & 1u);
    const uint32_t code = (rounded >> 20) - (120u << 3);
    return static_cast<uint8_t>(sign | (code > 0x7eu ? 0x7eu : code));
}

uint8_t f32_to_e2m1(float value) {
    const float magnitude = std::fabs(value);
    uint8_t code = 0;
    // The thresholds of round to nearest, ties to even code.
    if (magnitude > 5.0f) {
        code = 7;
    } else if (magnitude >= 3.5f) {
        code = 6;
    } else if (magnitude > 2.5f) {
        code = 5;
    } else if (magnitude >= 1.75f) {
        code = 4;
    } else if (magnitude > 1.25f) {
        code = 3;
    } else if (magnitude >= 0.75f) {
        code = 2;
    } else if (magnitude > 0.25f) {
        code = 1;
    }
    return std::signbit(value) ? static_cast<uint8_t>(code | 8u) : code;
}

}  // namespace colugo
