// The vector of the avx512, avx512_bf16 and amx tiers: 16 floats (F, BW, DQ, VL). Included only by files compiled for
// those tiers. Tag is a type of the tier's own namespace: templates instantiated in files of different flags must be
// different functions, so that the linker does not merge one tier's code into another's.
#pragma once

#include "kernels/generic/intrinsics_avx512.h"

#include <cstddef>
#include <cstdint>

#include "kernels/generic/unroll.h"

namespace colugo::kernels {

template <class Tag>
struct Vec512 {
    static constexpr int kWidth = 16;
    __m512 v;

    static __mmask16 mask(int count) { return static_cast<__mmask16>((1u << count) - 1u); }
    static Vec512 zero() { return {_mm512_setzero_ps()}; }
    static Vec512 set(float x) { return {_mm512_set1_ps(x)}; }
    static Vec512 load(const float* p) { return {_mm512_loadu_ps(p)}; }
    static Vec512 load_partial(const float* p, int count) { return {_mm512_maskz_loadu_ps(mask(count), p)}; }
    void store(float* p) const { _mm512_storeu_ps(p, v); }
    void store_partial(float* p, int count) const { _mm512_mask_storeu_ps(p, mask(count), v); }
    float first() const { return _mm512_cvtss_f32(v); }
    friend Vec512 operator+(Vec512 a, Vec512 b) { return {_mm512_add_ps(a.v, b.v)}; }
    friend Vec512 operator-(Vec512 a, Vec512 b) { return {_mm512_sub_ps(a.v, b.v)}; }
    friend Vec512 operator*(Vec512 a, Vec512 b) { return {_mm512_mul_ps(a.v, b.v)}; }
    friend Vec512 operator/(Vec512 a, Vec512 b) { return {_mm512_div_ps(a.v, b.v)}; }
    static Vec512 fma(Vec512 a, Vec512 b, Vec512 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
    static void pin(Vec512& a) { COLUGO_PIN(a.v); }
    static Vec512 max(Vec512 a, Vec512 b) { return {_mm512_max_ps(a.v, b.v)}; }
    static Vec512 min(Vec512 a, Vec512 b) { return {_mm512_min_ps(a.v, b.v)}; }
    static Vec512 abs(Vec512 a) { return {_mm512_abs_ps(a.v)}; }
    static Vec512 round(Vec512 a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
    static Vec512 pow2(Vec512 i) {
        const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(i.v), _mm512_set1_epi32(127));
        return {_mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23))};
    }
    static Vec512 times_pow2(Vec512 x, Vec512 n) { return {_mm512_scalef_ps(x.v, n.v)}; }
    static Vec512 select_less(Vec512 a, Vec512 b, Vec512 x, Vec512 y) {
        return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
    }
    static Vec512 round_bf16(Vec512 a) {
        const __m512i bits = _mm512_castps_si512(a.v);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
        return {_mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32(static_cast<int>(0xffff0000u))))};
    }
    // To kBits mantissa bits, ties to even, saturating; below `smallest` (the least normal number) to multiples of the
    // spacing of floats at `magic`. NaN gives `largest`, zeros keep their sign.
    template <int kBits>
    static __m512 round_mantissa(Vec512 a, float largest, float smallest, float magic) {
        const __m512i sign_bit = _mm512_set1_epi32(static_cast<int>(0x80000000u));
        const __m512i sign = _mm512_and_si512(_mm512_castps_si512(a.v), sign_bit);
        const __m512 magnitude = _mm512_min_ps(_mm512_abs_ps(a.v), _mm512_set1_ps(largest));
        const __m512i bits = _mm512_castps_si512(magnitude);
        constexpr int kDropped = 23 - kBits;
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, kDropped), _mm512_set1_epi32(1));
        const __m512i half = _mm512_set1_epi32((1 << (kDropped - 1)) - 1);
        const __m512i normal =
            _mm512_and_si512(_mm512_add_epi32(_mm512_add_epi32(bits, half), odd), _mm512_set1_epi32(-(1 << kDropped)));
        const __m512 small = _mm512_sub_ps(_mm512_add_ps(magnitude, _mm512_set1_ps(magic)), _mm512_set1_ps(magic));
        const __mmask16 is_small = _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(smallest), _CMP_LT_OQ);
        const __m512i rounded = _mm512_mask_blend_epi32(is_small, normal, _mm512_castps_si512(small));
        return _mm512_castsi512_ps(_mm512_or_si512(rounded, sign));
    }
    static Vec512 round_e4m3(Vec512 a) {
        const __m512 rounded = round_mantissa<3>(a, 448.0f, 0x1p-6f, 0x1p14f);
        const __mmask16 is_nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
        return {_mm512_mask_blend_ps(is_nan, rounded, _mm512_set1_ps(__builtin_nanf("")))};
    }
    static Vec512 round_e2m1(Vec512 a) {
        const __m512 rounded = round_mantissa<1>(a, 6.0f, 1.0f, 0x1p22f);
        const __mmask16 is_number = _mm512_cmp_ps_mask(a.v, a.v, _CMP_ORD_Q);
        return {_mm512_maskz_mov_ps(is_number, rounded)};
    }
    static void store_codes(int8_t* p, const Vec512 (&values)[1]) {
        const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(values[0].v));
        const __m128i order = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);  // kCodeOrder
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_shuffle_epi8(bytes, order));
    }
    // The dot product of four bytes starts from a dword: 12 is taken off every doubled weight code.
    static int32_t code_offset(float total) { return static_cast<int32_t>(-12.0f * total); }
    void store_int16(int16_t* p) const {
        const __m256i words = _mm512_cvtepi32_epi16(_mm512_cvttps_epi32(v));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), words);
    }
    // Values that are bf16 already.
    void store_bf16(uint16_t* p) const {
        const __m512i upper = _mm512_srli_epi32(_mm512_castps_si512(v), 16);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(upper));
    }
    // e4m3 sits in the exponent and mantissa of a half with a bias 8 too small, so a half is exact where a shift into a
    // float would make denormals; 16-bit lanes hold one code each.
    static __m256i e4m3_to_half(__m256i code) {
        const __m256i magnitude = _mm256_and_si256(_mm256_slli_epi16(code, 7), _mm256_set1_epi16(0x3f80));
        const __m256i sign =
            _mm256_and_si256(_mm256_slli_epi16(code, 8), _mm256_set1_epi16(static_cast<int16_t>(0x8000)));
        return _mm256_or_si256(magnitude, sign);
    }
    static Vec512 from_e4m3_half(__m256i half) {
        return {_mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256.0f))};
    }
    static Vec512 load_e4m3(const std::byte* p) {
        const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        return from_e4m3_half(e4m3_to_half(_mm256_cvtepu8_epi16(codes)));
    }
    static void load_bf16_pairs(const std::byte* p, Vec512& low, Vec512& high) {
        const __m512i pairs = _mm512_loadu_si512(p);
        low.v = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
        high.v = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
    }
    static constexpr bool kByteDots = true;
    static void load_e4m3_pairs(const std::byte* p, Vec512& low, Vec512& high) {
        const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        low = from_e4m3_half(e4m3_to_half(pairs));
        high = from_e4m3_half(e4m3_to_half(_mm256_srli_epi16(pairs, 8)));
    }
    // A half's value is the e4m3's / 256.
    static constexpr float kRawE4m3Scale = 256.0f;
    static void load_raw_e4m3_pairs(const std::byte* p, int parity, Vec512 (&columns)[1]) {
        // 128 x the signed byte: a half but for the sign's copy in its highest exponent bit.
        const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        const __m256i factor = _mm256_set1_epi16(parity == 0 ? 128 : static_cast<int16_t>(0x8000));
        const __m256i half =
            _mm256_and_si256(_mm256_maddubs_epi16(factor, pairs), _mm256_set1_epi16(static_cast<int16_t>(0xbfff)));
        columns[0].v = _mm512_cvtph_ps(half);
    }
    // The permute looks at the four low bits of an index only, so the nibble needs no mask.
    static void load_e2m1_octets(const std::byte* p, Vec512 (&out)[8]) {
        const __m512 table = _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f, -0.0f, -0.5f, -1.0f, -1.5f,
                                            -2.0f, -3.0f, -4.0f, -6.0f);
        __m512i codes = _mm512_loadu_si512(p);
        for (int i = 0; i < 8; ++i, codes = _mm512_srli_epi32(codes, 4)) {
            out[i].v = _mm512_permutexvar_ps(codes, table);
        }
    }
    // Halves added pairwise: the lane order is fixed.
    float reduce_add() const {
        const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    float reduce_max() const {
        const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
        const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }
    static Vec512 reduce_add_each(const Vec512 (&x)[16]) {
        return reduce_each(x, [](__m512 a, __m512 b) { return _mm512_add_ps(a, b); });
    }
    static Vec512 reduce_max_each(const Vec512 (&x)[16]) {
        return reduce_each(x, [](__m512 a, __m512 b) { return _mm512_max_ps(a, b); });
    }

 private:
    // In lane i all of x[i], halves joined pairwise as above: each step joins the halves of two vectors' parts at once
    // and leaves them in one.
    template <class Join>
    static Vec512 reduce_each(const Vec512 (&x)[16], Join join) {
        // The last step leaves the parts in the order 0, 4, 8, 12, 1, 5, ...: they go in like that.
        const auto eights = [&](int i) {
            const __m512 a = x[i / 4 + i % 4 * 4].v, b = x[(i + 1) / 4 + (i + 1) % 4 * 4].v;
            return join(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
        };
        const auto fours = [&](int i) {
            const __m512 a = eights(i), b = eights(i + 2);
            return join(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
        };
        const auto twos = [&](int i) {
            const __m512 a = fours(i), b = fours(i + 4);
            return join(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
        };
        const __m512 a = twos(0), b = twos(8);
        return {join(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd))};
    }
};

}  // namespace colugo::kernels
