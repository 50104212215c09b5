// The vector of the avx2 tier: 8 floats (AVX2, FMA, F16C). Included only by files compiled for that tier.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace colugo::kernels::avx2 {

struct Vec {
    static constexpr int kWidth = 8;
    __m256 v;

    static __m256i mask(int count) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
    static Vec zero() { return {_mm256_setzero_ps()}; }
    static Vec set(float x) { return {_mm256_set1_ps(x)}; }
    static Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
    static Vec load_partial(const float* p, int count) { return {_mm256_maskload_ps(p, mask(count))}; }
    float first() const { return _mm256_cvtss_f32(v); }
    void store(float* p) const { _mm256_storeu_ps(p, v); }
    void store_partial(float* p, int count) const { _mm256_maskstore_ps(p, mask(count), v); }
    friend Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
    friend Vec operator-(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
    friend Vec operator*(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
    friend Vec operator/(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
    static Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
    // Keeps a sum in its register from here on: compilers move parts of long unrolled sums to memory otherwise.
    static void pin(Vec& a) { asm("" : "+x"(a.v)); }
    static Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
    static Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
    static Vec abs(Vec a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
    static Vec round(Vec a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
    static Vec pow2(Vec i) {
        const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(i.v), _mm256_set1_epi32(127));
        return {_mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23))};
    }
    static Vec select_less(Vec a, Vec b, Vec x, Vec y) {
        return {_mm256_blendv_ps(y.v, x.v, _mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ))};
    }
    static Vec round_bf16(Vec a) {
        const __m256i bits = _mm256_castps_si256(a.v);
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
        const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
        return {_mm256_castsi256_ps(_mm256_and_si256(rounded, _mm256_set1_epi32(static_cast<int>(0xffff0000u))))};
    }
    // To kBits mantissa bits, ties to even, saturating; below kSmallest (the least normal number) to multiples of
    // kSpacing, which is the spacing of floats at kMagic. NaN stays NaN, zeros keep their sign.
    template <int kBits>
    static Vec round_mantissa(Vec a, float largest, float smallest, float magic) {
        const __m256 sign_bit = _mm256_set1_ps(-0.0f);
        const __m256 sign = _mm256_and_ps(a.v, sign_bit);
        const __m256 magnitude = _mm256_min_ps(_mm256_set1_ps(largest), _mm256_andnot_ps(sign_bit, a.v));
        const __m256i bits = _mm256_castps_si256(magnitude);
        constexpr int kDropped = 23 - kBits;
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, kDropped), _mm256_set1_epi32(1));
        const __m256i half = _mm256_set1_epi32((1 << (kDropped - 1)) - 1);
        const __m256i rounded =
            _mm256_and_si256(_mm256_add_epi32(_mm256_add_epi32(bits, half), odd), _mm256_set1_epi32(-(1 << kDropped)));
        const __m256 shifted = _mm256_add_ps(magnitude, _mm256_set1_ps(magic));
        const __m256 small = _mm256_sub_ps(shifted, _mm256_set1_ps(magic));
        const __m256 is_small = _mm256_cmp_ps(magnitude, _mm256_set1_ps(smallest), _CMP_LT_OQ);
        return {_mm256_or_ps(_mm256_blendv_ps(_mm256_castsi256_ps(rounded), small, is_small), sign)};
    }
    static Vec round_e4m3(Vec a) {
        const Vec rounded = round_mantissa<3>(a, 448.0f, 0x1p-6f, 0x1p14f);
        return {_mm256_blendv_ps(rounded.v, _mm256_set1_ps(__builtin_nanf("")), _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q))};
    }
    static Vec round_e2m1(Vec a) {
        const Vec rounded = round_mantissa<1>(a, 6.0f, 1.0f, 0x1p22f);
        const __m256 zero = _mm256_and_ps(a.v, _mm256_set1_ps(-0.0f));
        return {_mm256_blendv_ps(rounded.v, zero, _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q))};
    }
    static void store_codes(int8_t* p, const Vec (&values)[2]) {
        // k 0..3, 8..11 in the lower lane, 4..7, 12..15 in the upper one; then bytes k 0..3, 8..11, 4..7, 12..15.
        const __m256i words = _mm256_packs_epi32(_mm256_cvttps_epi32(values[0].v), _mm256_cvttps_epi32(values[1].v));
        const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        const __m128i order = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);  // kCodeOrder
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_shuffle_epi8(bytes, order));
    }
    // Products are added in two words, each of which gives half of the offset.
    static int32_t code_offset(float total) {
        const auto half = static_cast<uint16_t>(static_cast<int16_t>(-6.0f * total));
        return static_cast<int32_t>(uint32_t{half} << 16 | half);
    }
    void store_int16(int16_t* p) const {
        const __m256i integers = _mm256_cvttps_epi32(v);
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(integers), _mm256_extracti128_si256(integers, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), words);
    }
    // e4m3 sits in the exponent and mantissa of a half with a bias 8 too small, so a half is exact where a shift into a
    // float would make denormals; 16-bit lanes hold one code each.
    static __m128i e4m3_to_half(__m128i code) {
        const __m128i magnitude = _mm_and_si128(_mm_slli_epi16(code, 7), _mm_set1_epi16(0x3f80));
        const __m128i sign = _mm_and_si128(_mm_slli_epi16(code, 8), _mm_set1_epi16(static_cast<int16_t>(0x8000)));
        return _mm_or_si128(magnitude, sign);
    }
    static Vec from_e4m3_half(__m128i half) { return {_mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256.0f))}; }
    static Vec load_e4m3(const std::byte* p) {
        const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
        return from_e4m3_half(e4m3_to_half(_mm_cvtepu8_epi16(codes)));
    }
    static void load_bf16_pairs(const std::byte* p, Vec& low, Vec& high) {
        const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        low.v = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
        high.v = _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
    }
    static constexpr bool kByteDots = false;
    static void load_int8_pairs(const std::byte* p, int k, Vec& low, Vec& high) {
        const __m256i quads = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        const __m256i upper = k == 0 ? _mm256_slli_epi32(quads, 16) : quads;
        low.v = _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(upper, 8), 24));
        high.v = _mm256_cvtepi32_ps(_mm256_srai_epi32(upper, 24));
    }
    static void load_e4m3_pairs(const std::byte* p, Vec& low, Vec& high) {
        const __m128i pairs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        low = from_e4m3_half(e4m3_to_half(pairs));
        high = from_e4m3_half(e4m3_to_half(_mm_srli_epi16(pairs, 8)));
    }
    // A half's value is the e4m3's / 256.
    static constexpr float kRawE4m3Scale = 256.0f;
    static void load_raw_e4m3_pairs(const std::byte* p, int parity, Vec (&columns)[2]) {
        // 128 x the signed byte: a half but for the sign's copy in its highest exponent bit. A multiplication, because
        // the shifters are busy with the conversions.
        const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        const __m256i shifted =
            _mm256_maddubs_epi16(_mm256_set1_epi16(parity == 0 ? 128 : static_cast<int16_t>(0x8000)), pairs);
        const __m256i half = _mm256_and_si256(shifted, _mm256_set1_epi16(static_cast<int16_t>(0xbfff)));
        columns[0].v = _mm256_cvtph_ps(_mm256_castsi256_si128(half));
        columns[1].v = _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1));
    }
    // The permute looks at the three low bits of an index only, so the nibble needs no mask; its sign bit is the
    // fourth.
    static void load_e2m1_octets(const std::byte* p, Vec (&out)[8]) {
        const __m256 magnitudes = _mm256_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f);
        const __m256i sign = _mm256_set1_epi32(static_cast<int>(0x80000000u));
        const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        for (int i = 0; i < 8; ++i) {
            const __m256 magnitude = _mm256_permutevar8x32_ps(magnitudes, _mm256_srli_epi32(codes, 4 * i));
            const __m256i negative = _mm256_and_si256(_mm256_slli_epi32(codes, 28 - 4 * i), sign);
            out[i].v = _mm256_or_ps(magnitude, _mm256_castsi256_ps(negative));
        }
    }
    float reduce_add() const {
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    float reduce_max() const {
        const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }
};

}  // namespace colugo::kernels::avx2
