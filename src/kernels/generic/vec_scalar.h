// The vector of the scalar tier: one float. Templates in this folder are written against this interface.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/float_formats.h"
#include "kernels/packed_weight.h"

namespace colugo::kernels::scalar {

struct Vec {
    static constexpr int kWidth = 1;
    float v;

    static Vec zero() { return {0.0f}; }
    static Vec set(float x) { return {x}; }
    static Vec load(const float* p) { return {*p}; }
    // Lanes >= count are zero and not read. 0 <= count <= kWidth.
    static Vec load_partial(const float* p, int count) { return {count > 0 ? *p : 0.0f}; }
    void store(float* p) const { *p = v; }
    float first() const { return v; }
    void store_partial(float* p, int count) const {
        if (count > 0) *p = v;
    }
    friend Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
    friend Vec operator-(Vec a, Vec b) { return {a.v - b.v}; }
    friend Vec operator*(Vec a, Vec b) { return {a.v * b.v}; }
    friend Vec operator/(Vec a, Vec b) { return {a.v / b.v}; }
    // a * b + c. The scalar tier is the readable reference: it rounds the product.
    static Vec fma(Vec a, Vec b, Vec c) { return {a.v * b.v + c.v}; }
    static void pin(Vec&) {}
    // The second operand where either is NaN, as the instruction does.
    static Vec max(Vec a, Vec b) { return {a.v > b.v ? a.v : b.v}; }
    static Vec min(Vec a, Vec b) { return {a.v < b.v ? a.v : b.v}; }
    static Vec abs(Vec a) { return {std::fabs(a.v)}; }
    static Vec round(Vec a) { return {std::nearbyintf(a.v)}; }  // to nearest even
    // 2^i for integral-valued i in [-126, 127].
    static Vec pow2(Vec i) {
        const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(i.v) + 127) << 23;
        float out;
        std::memcpy(&out, &bits, sizeof out);
        return {out};
    }
    // Lane-wise a < b ? x : y.
    static Vec select_less(Vec a, Vec b, Vec x, Vec y) { return {a.v < b.v ? x.v : y.v}; }
    // Nearest bf16, ties to even; finite input.
    static Vec round_bf16(Vec a) {
        uint32_t bits;
        std::memcpy(&bits, &a.v, sizeof bits);
        bits = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
        float out;
        std::memcpy(&out, &bits, sizeof out);
        return {out};
    }
    // The values e4m3 and e2m1 storage would give back (float_formats.h).
    static Vec round_e4m3(Vec a) { return {e4m3_to_f32(f32_to_e4m3(a.v))}; }
    static Vec round_e2m1(Vec a) { return {kE2m1Values[f32_to_e2m1(a.v)]}; }
    // 16 integral values in [-12, 12] in k order, to bytes in kCodeOrder.
    static void store_codes(int8_t* p, const Vec (&values)[16]) {
        for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(values[i / 8 * 8 + kCodeOrder[i % 8]].v);
    }
    // What a sum of products with codes of the sum `total` starts from, as the tier's multiplier wants it.
    static int32_t code_offset(float) { return 0; }
    // kWidth integral values.
    void store_int16(int16_t* p) const { *p = static_cast<int16_t>(v); }
    // kWidth values of e4m3. The NaN codes 0x7f and 0xff read as +-480: kernels have no e4m3 NaN.
    static Vec load_e4m3(const std::byte* p) {
        const auto code = static_cast<uint8_t>(*p);
        if ((code & 0x7fu) == 0x7fu) return {code & 0x80u ? -480.0f : 480.0f};
        return {e4m3_to_f32(code)};
    }
    // Panel columns of the packed formats (packed_weight.h): lane i of every result is column i.
    // kWidth dwords of two bf16: the lower k and the higher one.
    static void load_bf16_pairs(const std::byte* p, Vec& low, Vec& high) {
        uint16_t pair[2];
        std::memcpy(pair, p, sizeof pair);
        low.v = bf16_to_f32(pair[0]);
        high.v = bf16_to_f32(pair[1]);
    }
    // A multiplier of bytes that sums them in 32 bits.
    static constexpr bool kByteDots = false;
    // Of kWidth dwords of four signed bytes those at k and k + 1; k is 0 or 2.
    static void load_int8_pairs(const std::byte* p, int k, Vec& low, Vec& high) {
        low.v = static_cast<float>(static_cast<int8_t>(p[k]));
        high.v = static_cast<float>(static_cast<int8_t>(p[k + 1]));
    }
    // kWidth words of two e4m3.
    static void load_e4m3_pairs(const std::byte* p, Vec& low, Vec& high) {
        low = load_e4m3(p);
        high = load_e4m3(p + 1);
    }
    // The 16 columns of a pair of k at its lower (0) or higher (1) k, divided by kRawE4m3Scale.
    static constexpr float kRawE4m3Scale = 1.0f;
    static void load_raw_e4m3_pairs(const std::byte* p, int parity, Vec (&columns)[16]) {
        for (int i = 0; i < 16; ++i) columns[i] = load_e4m3(p + 2 * i + parity);
    }
    // kWidth dwords of eight e2m1: out[i] is nibble i.
    static void load_e2m1_octets(const std::byte* p, Vec (&out)[8]) {
        uint32_t codes;
        std::memcpy(&codes, p, sizeof codes);
        for (int i = 0; i < 8; ++i) out[i].v = kE2m1Values[codes >> (4 * i) & 0xfu];
    }
    // Sum and maximum over the lanes, in one fixed order.
    float reduce_add() const { return v; }
    float reduce_max() const { return v; }
};

}  // namespace colugo::kernels::scalar
