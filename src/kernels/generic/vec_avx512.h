// The vector of the avx512, avx512_bf16 and amx tiers: 16 floats (F, BW, DQ, VL). Included only by files compiled for
// those tiers. The tier is a parameter so that templates instantiated with it in files of different flags are different
// functions: the linker must not merge one tier's code into another's.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/kernel_table.h"

namespace colugo::kernels {

template <Tier kTier>
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
    friend Vec512 operator+(Vec512 a, Vec512 b) { return {_mm512_add_ps(a.v, b.v)}; }
    friend Vec512 operator-(Vec512 a, Vec512 b) { return {_mm512_sub_ps(a.v, b.v)}; }
    friend Vec512 operator*(Vec512 a, Vec512 b) { return {_mm512_mul_ps(a.v, b.v)}; }
    friend Vec512 operator/(Vec512 a, Vec512 b) { return {_mm512_div_ps(a.v, b.v)}; }
    static Vec512 fma(Vec512 a, Vec512 b, Vec512 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
    static Vec512 max(Vec512 a, Vec512 b) { return {_mm512_max_ps(a.v, b.v)}; }
    static Vec512 min(Vec512 a, Vec512 b) { return {_mm512_min_ps(a.v, b.v)}; }
    static Vec512 abs(Vec512 a) { return {_mm512_abs_ps(a.v)}; }
    static Vec512 round(Vec512 a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
    static Vec512 pow2(Vec512 i) {
        const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(i.v), _mm512_set1_epi32(127));
        return {_mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23))};
    }
    static Vec512 select_less(Vec512 a, Vec512 b, Vec512 x, Vec512 y) {
        return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
    }
    static Vec512 round_bf16(Vec512 a) {
        const __m512i bits = _mm512_castps_si512(a.v);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
        return {_mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32(static_cast<int>(0xffff0000u))))};
    }
    float reduce_add() const {
        const __m256 low = _mm512_castps512_ps256(v);
        const __m256 high = _mm512_extractf32x8_ps(v, 1);
        const __m256 eight = _mm256_add_ps(low, high);
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    float reduce_max() const {
        const __m256 low = _mm512_castps512_ps256(v);
        const __m256 high = _mm512_extractf32x8_ps(v, 1);
        const __m256 eight = _mm256_max_ps(low, high);
        const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }
};

}  // namespace colugo::kernels
