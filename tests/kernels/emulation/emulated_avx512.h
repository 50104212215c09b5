// The AVX-512 instructions the kernels use, in AVX2: for proving the avx512 tiers' kernels on a CPU that lacks them.
// Included before everything else (-include) by the emulated tiers' objects, it replaces each intrinsic by a function
// and renames the tiers, so that their symbols are not those of the real ones. One that is missing here does not
// compile.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#define avx512 avx512_emulated
#define avx512_bf16 avx512_bf16_emulated
#define amx amx_emulated
#define COLUGO_UNROLL  // the loops are long enough without
#define COLUGO_PIN(vector) static_cast<void>(vector)

namespace colugo::emulated {

#define COLUGO_EMULATED [[gnu::always_inline]] inline

// A 512-bit register as its halves.
#define COLUGO_HALVES(Name, Wide, Half)                                                                         \
    struct Name {                                                                                               \
        Half low, high;                                                                                         \
        COLUGO_EMULATED Name(Half lower, Half upper) : low(lower), high(upper) {}                               \
        COLUGO_EMULATED explicit Name(Wide wide) { std::memcpy(static_cast<void*>(this), &wide, sizeof wide); } \
        COLUGO_EMULATED operator Wide() const {                                                                 \
            Wide wide;                                                                                          \
            std::memcpy(&wide, static_cast<const void*>(this), sizeof wide);                                    \
            return wide;                                                                                        \
        }                                                                                                       \
    };
COLUGO_HALVES(Floats, __m512, __m256)
COLUGO_HALVES(Integers, __m512i, __m256i)

// Or as its values.
template <class T>
struct Values {
    static constexpr int kCount = 64 / sizeof(T);
    T at[kCount];
    COLUGO_EMULATED Values() = default;
    template <class Wide>
    COLUGO_EMULATED explicit Values(Wide wide) {
        static_assert(sizeof wide == 64);
        std::memcpy(at, &wide, sizeof at);
    }
    template <class Wide>
    COLUGO_EMULATED Wide as() const {
        Wide wide;
        std::memcpy(&wide, at, sizeof at);
        return wide;
    }
};

// What each half of a float or integer register becomes.
#define COLUGO_FLOATS_1(name)                                                       \
    COLUGO_EMULATED __m512 name(__m512 a) {                                         \
        return Floats(_mm256_##name(Floats(a).low), _mm256_##name(Floats(a).high)); \
    }
#define COLUGO_FLOATS_2(name)                                                                                      \
    COLUGO_EMULATED __m512 name(__m512 a, __m512 b) {                                                              \
        return Floats(_mm256_##name(Floats(a).low, Floats(b).low), _mm256_##name(Floats(a).high, Floats(b).high)); \
    }
#define COLUGO_INTEGERS_2(name)                                             \
    COLUGO_EMULATED __m512i name(__m512i a, __m512i b) {                    \
        return Integers(_mm256_##name(Integers(a).low, Integers(b).low),    \
                        _mm256_##name(Integers(a).high, Integers(b).high)); \
    }
#define COLUGO_SHIFT(name)                                                         \
    COLUGO_EMULATED __m512i name(__m512i a, unsigned count) {                      \
        return Integers(_mm256_##name(Integers(a).low, static_cast<int>(count)),   \
                        _mm256_##name(Integers(a).high, static_cast<int>(count))); \
    }

COLUGO_FLOATS_2(add_ps)
COLUGO_FLOATS_2(sub_ps)
COLUGO_FLOATS_2(mul_ps)
COLUGO_FLOATS_2(div_ps)
COLUGO_FLOATS_2(max_ps)
COLUGO_FLOATS_2(min_ps)
COLUGO_INTEGERS_2(add_epi32)
COLUGO_INTEGERS_2(add_epi16)
COLUGO_INTEGERS_2(sub_epi16)
COLUGO_INTEGERS_2(maddubs_epi16)
COLUGO_INTEGERS_2(shuffle_epi8)
COLUGO_SHIFT(slli_epi32)
COLUGO_SHIFT(srli_epi32)
COLUGO_SHIFT(slli_epi16)
COLUGO_SHIFT(srli_epi16)

COLUGO_EMULATED __m512i and_si512(__m512i a, __m512i b) {
    return Integers(_mm256_and_si256(Integers(a).low, Integers(b).low),
                    _mm256_and_si256(Integers(a).high, Integers(b).high));
}
COLUGO_EMULATED __m512i xor_si512(__m512i a, __m512i b) {
    return Integers(_mm256_xor_si256(Integers(a).low, Integers(b).low),
                    _mm256_xor_si256(Integers(a).high, Integers(b).high));
}
COLUGO_EMULATED __m512i or_si512(__m512i a, __m512i b) {
    return Integers(_mm256_or_si256(Integers(a).low, Integers(b).low),
                    _mm256_or_si256(Integers(a).high, Integers(b).high));
}
COLUGO_EMULATED __m512 fmadd_ps(__m512 a, __m512 b, __m512 c) {
    return Floats(_mm256_fmadd_ps(Floats(a).low, Floats(b).low, Floats(c).low),
                  _mm256_fmadd_ps(Floats(a).high, Floats(b).high, Floats(c).high));
}
COLUGO_EMULATED __m512 abs_ps(__m512 a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return Floats(_mm256_andnot_ps(sign, Floats(a).low), _mm256_andnot_ps(sign, Floats(a).high));
}
template <int kMode>
COLUGO_EMULATED __m512 roundscale_ps(__m512 a) {
    static_assert(kMode == (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    return Floats(_mm256_round_ps(Floats(a).low, kMode), _mm256_round_ps(Floats(a).high, kMode));
}
// a 2^b; b is integral-valued here.
COLUGO_EMULATED __m512 scalef_ps(__m512 a, __m512 b) {
    float x[16], n[16];
    __builtin_memcpy(x, &a, sizeof x);
    __builtin_memcpy(n, &b, sizeof n);
    for (int i = 0; i < 16; ++i) x[i] = n[i] == n[i] ? __builtin_ldexpf(x[i], static_cast<int>(n[i])) : n[i];
    __builtin_memcpy(&a, x, sizeof x);
    return a;
}

// The quarters, or in each quarter the values, that the pairs of bits of kOrder name: two of a, then two of b.
template <int kOrder>
COLUGO_EMULATED __m512 shuffle_f32x4(__m512 a, __m512 b) {
    const auto of = [](const Floats& x, int quarter) {
        return quarter < 2 ? (quarter == 0 ? _mm256_castps256_ps128(x.low) : _mm256_extractf128_ps(x.low, 1))
                           : (quarter == 2 ? _mm256_castps256_ps128(x.high) : _mm256_extractf128_ps(x.high, 1));
    };
    const Floats x(a), y(b);
    return Floats(_mm256_set_m128(of(x, kOrder >> 2 & 3), of(x, kOrder & 3)),
                  _mm256_set_m128(of(y, kOrder >> 6 & 3), of(y, kOrder >> 4 & 3)));
}
template <int kOrder>
COLUGO_EMULATED __m512 shuffle_ps(__m512 a, __m512 b) {
    return Floats(_mm256_shuffle_ps(Floats(a).low, Floats(b).low, kOrder),
                  _mm256_shuffle_ps(Floats(a).high, Floats(b).high, kOrder));
}

// Constants, casts and memory.
COLUGO_EMULATED __m512 set1_ps(float x) {
    return Floats(_mm256_set1_ps(x), _mm256_set1_ps(x));
}
COLUGO_EMULATED __m512i set1_epi32(int x) {
    return Integers(_mm256_set1_epi32(x), _mm256_set1_epi32(x));
}
COLUGO_EMULATED __m512i set1_epi16(short x) {
    return Integers(_mm256_set1_epi16(x), _mm256_set1_epi16(x));
}
COLUGO_EMULATED __m512i set1_epi8(char x) {
    return Integers(_mm256_set1_epi8(x), _mm256_set1_epi8(x));
}
COLUGO_EMULATED __m512 setzero_ps() {
    return set1_ps(0.0f);
}
COLUGO_EMULATED __m512i setzero_si512() {
    return set1_epi32(0);
}
template <class... T>
COLUGO_EMULATED __m512 setr_ps(T... x) {
    Values<float> out;
    static_assert(sizeof...(x) == 16);
    int i = 0;
    ((out.at[i++] = x), ...);
    return out.as<__m512>();
}
template <class... T>
COLUGO_EMULATED __m512i setr_epi32(T... x) {
    Values<int32_t> out;
    static_assert(sizeof...(x) == 16);
    int i = 0;
    ((out.at[i++] = x), ...);
    return out.as<__m512i>();
}
COLUGO_EMULATED __m512i broadcast_i32x4(__m128i a) {
    return Integers(_mm256_broadcastsi128_si256(a), _mm256_broadcastsi128_si256(a));
}
COLUGO_EMULATED __m512i broadcast_i64x4(__m256i a) {
    return Integers(a, a);
}
COLUGO_EMULATED __m512i castps_si512(__m512 a) {
    return Integers(_mm256_castps_si256(Floats(a).low), _mm256_castps_si256(Floats(a).high));
}
COLUGO_EMULATED __m512 castsi512_ps(__m512i a) {
    return Floats(_mm256_castsi256_ps(Integers(a).low), _mm256_castsi256_ps(Integers(a).high));
}
COLUGO_EMULATED __m256 castps512_ps256(__m512 a) {
    return Floats(a).low;
}
template <int kHalf>
COLUGO_EMULATED __m256 extractf32x8_ps(__m512 a) {
    static_assert(kHalf == 0 || kHalf == 1);
    return kHalf == 0 ? Floats(a).low : Floats(a).high;
}
COLUGO_EMULATED float cvtss_f32(__m512 a) {
    return _mm256_cvtss_f32(Floats(a).low);
}
COLUGO_EMULATED __m512 loadu_ps(const void* p) {
    const auto* floats = static_cast<const float*>(p);
    return Floats(_mm256_loadu_ps(floats), _mm256_loadu_ps(floats + 8));
}
COLUGO_EMULATED void storeu_ps(void* p, __m512 a) {
    std::memcpy(p, &a, sizeof a);
}
COLUGO_EMULATED __m512i loadu_si512(const void* p) {
    const auto* halves = static_cast<const __m256i*>(p);
    return Integers(_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1));
}
COLUGO_EMULATED void storeu_si512(void* p, __m512i a) {
    std::memcpy(p, &a, sizeof a);
}

// Masks: bit i of the mask is for element i.
template <class T, class Mask, class Wide>
COLUGO_EMULATED Wide blend(Mask mask, Wide clear, Wide set) {
    Values<T> out(clear);
    const Values<T> other(set);
    for (int i = 0; i < Values<T>::kCount; ++i) {
        if (mask >> i & 1) out.at[i] = other.at[i];
    }
    return out.template as<Wide>();
}
COLUGO_EMULATED __m512 maskz_loadu_ps(__mmask16 mask, const void* p) {
    Values<float> out;
    for (int i = 0; i < 16; ++i) out.at[i] = mask >> i & 1 ? static_cast<const float*>(p)[i] : 0.0f;
    return out.as<__m512>();
}
COLUGO_EMULATED void mask_storeu_ps(void* p, __mmask16 mask, __m512 a) {
    const Values<float> values(a);
    for (int i = 0; i < 16; ++i) {
        if (mask >> i & 1) static_cast<float*>(p)[i] = values.at[i];
    }
}
COLUGO_EMULATED __m512 mask_blend_ps(__mmask16 mask, __m512 a, __m512 b) {
    return blend<float>(mask, a, b);
}
COLUGO_EMULATED __m512i mask_blend_epi32(__mmask16 mask, __m512i a, __m512i b) {
    return blend<int32_t>(mask, a, b);
}
COLUGO_EMULATED __m512 maskz_mov_ps(__mmask16 mask, __m512 a) {
    return blend<float>(mask, setzero_ps(), a);
}
template <int kPredicate>
COLUGO_EMULATED __mmask16 cmp_ps_mask(__m512 a, __m512 b) {
    const int low = _mm256_movemask_ps(_mm256_cmp_ps(Floats(a).low, Floats(b).low, kPredicate));
    const int high = _mm256_movemask_ps(_mm256_cmp_ps(Floats(a).high, Floats(b).high, kPredicate));
    return static_cast<__mmask16>(low | high << 8);
}
// Elements with no bit in common.
COLUGO_EMULATED __mmask32 testn_epi16_mask(__m512i a, __m512i b) {
    const __m256i zero = _mm256_setzero_si256();
    const __m512i common = and_si512(a, b);
    const __m256i bytes = _mm256_packs_epi16(_mm256_cmpeq_epi16(Integers(common).low, zero),
                                             _mm256_cmpeq_epi16(Integers(common).high, zero));
    return static_cast<__mmask32>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0xd8)));
}
COLUGO_EMULATED __mmask64 testn_epi8_mask(__m512i a, __m512i b) {
    const __m256i zero = _mm256_setzero_si256();
    const __m512i common = and_si512(a, b);
    const auto low = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(Integers(common).low, zero)));
    const auto high = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(Integers(common).high, zero)));
    return uint64_t{high} << 32 | low;
}
COLUGO_EMULATED __mmask32 test_epi16_mask(__m512i a, __m512i b) {
    return ~testn_epi16_mask(a, b);
}
COLUGO_EMULATED __m512i maskz_add_epi16(__mmask32 mask, __m512i a, __m512i b) {
    return blend<int16_t>(mask, setzero_si512(), add_epi16(a, b));
}
COLUGO_EMULATED __m512i mask_shuffle_epi8(__m512i other, __mmask64 mask, __m512i a, __m512i b) {
    return blend<int8_t>(mask, other, shuffle_epi8(a, b));
}

// Conversions: of integers by truncating to fewer bits, of floats by rounding to nearest even or towards zero.
COLUGO_EMULATED __m512i cvtps_epi32(__m512 a) {
    return Integers(_mm256_cvtps_epi32(Floats(a).low), _mm256_cvtps_epi32(Floats(a).high));
}
COLUGO_EMULATED __m512i cvttps_epi32(__m512 a) {
    return Integers(_mm256_cvttps_epi32(Floats(a).low), _mm256_cvttps_epi32(Floats(a).high));
}
COLUGO_EMULATED __m512 cvtepi32_ps(__m512i a) {
    return Floats(_mm256_cvtepi32_ps(Integers(a).low), _mm256_cvtepi32_ps(Integers(a).high));
}
COLUGO_EMULATED __m512 cvtph_ps(__m256i a) {
    return Floats(_mm256_cvtph_ps(_mm256_castsi256_si128(a)), _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)));
}
template <class Narrow, class Out>
COLUGO_EMULATED Out truncate_epi32(__m512i a) {
    const Values<int32_t> values(a);
    Narrow narrow[16];
    static_assert(sizeof narrow == sizeof(Out));
    for (int i = 0; i < 16; ++i) narrow[i] = static_cast<Narrow>(values.at[i]);
    Out out;
    std::memcpy(&out, narrow, sizeof out);
    return out;
}
COLUGO_EMULATED __m256i cvtepi32_epi16(__m512i a) {
    return truncate_epi32<int16_t, __m256i>(a);
}
COLUGO_EMULATED __m128i cvtepi32_epi8(__m512i a) {
    return truncate_epi32<int8_t, __m128i>(a);
}
COLUGO_EMULATED __m512i cvtepu8_epi16(__m256i a) {
    return Integers(_mm256_cvtepu8_epi16(_mm256_castsi256_si128(a)),
                    _mm256_cvtepu8_epi16(_mm256_extracti128_si256(a, 1)));
}

// out[i] = table[low bits of index[i]]
template <class T, class Wide>
COLUGO_EMULATED Wide permute(__m512i index, Wide table) {
    Values<T> out;
    const Values<T> from(table);
    const Values<uint16_t> words(index);
    constexpr int kStep = sizeof(T) / 2;  // the low word of each index
    for (int i = 0; i < Values<T>::kCount; ++i) out.at[i] = from.at[words.at[i * kStep] % Values<T>::kCount];
    return out.template as<Wide>();
}
COLUGO_EMULATED __m512 permutexvar_ps(__m512i index, __m512 table) {
    return permute<float>(index, table);
}
COLUGO_EMULATED __m512i permutexvar_epi16(__m512i index, __m512i table) {
    return permute<int16_t>(index, table);
}
COLUGO_EMULATED __m512i mask_permutexvar_epi16(__m512i other, __mmask32 mask, __m512i index, __m512i table) {
    return blend<int16_t>(mask, other, permutexvar_epi16(index, table));
}

// Bit i of the result: bit (a << 2 | b << 1 | c) of the table.
template <int kTable>
COLUGO_EMULATED __m512i ternarylogic_epi32(__m512i a, __m512i b, __m512i c) {
    const Values<uint64_t> x(a), y(b), z(c);
    Values<uint64_t> out;
    for (int i = 0; i < 8; ++i) {
        out.at[i] = 0;
        for (int term = 0; term < 8; ++term) {
            if (kTable >> term & 1) {
                out.at[i] |=
                    (term & 4 ? x.at[i] : ~x.at[i]) & (term & 2 ? y.at[i] : ~y.at[i]) & (term & 1 ? z.at[i] : ~z.at[i]);
            }
        }
    }
    return out.as<__m512i>();
}

// VNNI: sums of four products of unsigned and signed bytes, or of two of signed words.
COLUGO_EMULATED __m256i dpbusd(__m256i sum, __m256i a, __m256i b) {
    const __m256i even =
        _mm256_madd_epi16(_mm256_and_si256(a, _mm256_set1_epi16(0xff)), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}
COLUGO_EMULATED __m512i dpbusd_epi32(__m512i sum, __m512i a, __m512i b) {
    return Integers(dpbusd(Integers(sum).low, Integers(a).low, Integers(b).low),
                    dpbusd(Integers(sum).high, Integers(a).high, Integers(b).high));
}
COLUGO_EMULATED __m512i dpwssd_epi32(__m512i sum, __m512i a, __m512i b) {
    return Integers(_mm256_add_epi32(Integers(sum).low, _mm256_madd_epi16(Integers(a).low, Integers(b).low)),
                    _mm256_add_epi32(Integers(sum).high, _mm256_madd_epi16(Integers(a).high, Integers(b).high)));
}

// BF16: two fused multiply-adds, the higher words first, subnormal operands and results taken as zero.
COLUGO_EMULATED __m256 flush(__m256 a) {
    const __m256i bits = _mm256_castps_si256(a);
    const __m256i exponent = _mm256_and_si256(bits, _mm256_set1_epi32(0x7f800000));
    const __m256i small = _mm256_cmpeq_epi32(exponent, _mm256_setzero_si256());
    const __m256i magnitude = _mm256_and_si256(small, _mm256_set1_epi32(0x7fffffff));
    return _mm256_castsi256_ps(_mm256_andnot_si256(magnitude, bits));
}
COLUGO_EMULATED __m256 low_bf16(__m256i pairs) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
}
COLUGO_EMULATED __m256 high_bf16(__m256i pairs) {
    return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}
COLUGO_EMULATED __m256 multiply_add_bf16(__m256 a, __m256 b, __m256 sum) {
    return flush(_mm256_fmadd_ps(flush(a), flush(b), flush(sum)));
}
COLUGO_EMULATED __m256 dpbf16(__m256 sum, __m256i a, __m256i b) {
    sum = multiply_add_bf16(high_bf16(a), high_bf16(b), sum);
    return multiply_add_bf16(low_bf16(a), low_bf16(b), sum);
}
COLUGO_EMULATED __m512 dpbf16_ps(__m512 sum, __m512bh a, __m512bh b) {
    __m512i x, y;
    std::memcpy(&x, &a, sizeof x);
    std::memcpy(&y, &b, sizeof y);
    return Floats(dpbf16(Floats(sum).low, Integers(x).low, Integers(y).low),
                  dpbf16(Floats(sum).high, Integers(x).high, Integers(y).high));
}

// AMX: the tile registers of a thread, [8][16 rows][64 bytes], and their shapes. What would fault on the hardware
// traps.
struct TileConfig {
    uint8_t palette;
    uint8_t start_row;
    uint8_t reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
struct TileRegisters {
    TileConfig config;
    alignas(64) uint8_t data[8][16][64];
};
inline thread_local TileRegisters tile_registers;

inline void check(bool holds) {
    if (!holds) __builtin_trap();
}
inline void tile_load_config(const void* memory) {
    TileConfig config;
    std::memcpy(&config, memory, sizeof config);
    check(config.palette == 1 && config.start_row == 0);
    for (int tile = 0; tile < 16; ++tile) {
        check(config.rows[tile] <= (tile < 8 ? 16 : 0) && config.row_bytes[tile] <= (tile < 8 ? 64 : 0));
        check((config.rows[tile] == 0) == (config.row_bytes[tile] == 0));
    }
    tile_registers = TileRegisters{config, {}};
}
inline void tile_release() {
    tile_registers = TileRegisters{};
}
template <int kTile>
void tile_zero() {
    check(tile_registers.config.rows[kTile] != 0);
    std::memset(tile_registers.data[kTile], 0, sizeof tile_registers.data[kTile]);
}
template <int kTile>
void tile_load(const void* memory, size_t stride) {
    const TileConfig& config = tile_registers.config;
    tile_zero<kTile>();
    for (size_t row = 0; row < config.rows[kTile]; ++row) {
        std::memcpy(tile_registers.data[kTile][row], static_cast<const uint8_t*>(memory) + row * stride,
                    config.row_bytes[kTile]);
    }
}
template <int kTile>
void tile_store(void* memory, size_t stride) {
    const TileConfig& config = tile_registers.config;
    check(config.rows[kTile] != 0);
    for (size_t row = 0; row < config.rows[kTile]; ++row) {
        std::memcpy(static_cast<uint8_t*>(memory) + row * stride, tile_registers.data[kTile][row],
                    config.row_bytes[kTile]);
    }
}
// Lower and higher words are summed apart over all pairs, then added to each other and to the sums.
template <int kSums, int kRows, int kPanel>
void tile_dpbf16() {
    const TileConfig& config = tile_registers.config;
    check(config.rows[kSums] != 0 && config.rows[kSums] == config.rows[kRows]);
    check(config.row_bytes[kSums] == 64 && config.row_bytes[kRows] == 64);
    check(config.rows[kPanel] == 16 && config.row_bytes[kPanel] == 64);
    for (int row = 0; row < config.rows[kSums]; ++row) {
        for (int half = 0; half < 2; ++half) {
            __m256 low = _mm256_setzero_ps(), high = low;
            for (int pair = 0; pair < 16; ++pair) {
                int32_t factors;
                std::memcpy(&factors, tile_registers.data[kRows][row] + 4 * pair, sizeof factors);
                const __m256i a = _mm256_set1_epi32(factors);
                const __m256i b =
                    _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tile_registers.data[kPanel][pair] + 32 * half));
                low = multiply_add_bf16(low_bf16(a), low_bf16(b), low);
                high = multiply_add_bf16(high_bf16(a), high_bf16(b), high);
            }
            auto* sums = reinterpret_cast<float*>(tile_registers.data[kSums][row] + 32 * half);
            const __m256 products = flush(_mm256_add_ps(low, high));
            _mm256_storeu_ps(sums, flush(_mm256_add_ps(flush(_mm256_loadu_ps(sums)), products)));
        }
    }
}

}  // namespace colugo::emulated

#undef _mm512_cmp_ps_mask
#undef _mm512_extractf32x8_ps
#undef _mm512_roundscale_ps
#undef _mm512_shuffle_f32x4
#undef _mm512_shuffle_ps
#undef _mm512_ternarylogic_epi32
#undef _mm512_setr_epi32
#undef _mm512_setr_ps
#undef _mm512_slli_epi32
#undef _mm512_srli_epi32
#undef _mm512_slli_epi16
#undef _mm512_srli_epi16

#define _mm512_abs_ps colugo::emulated::abs_ps
#define _mm512_add_epi16 colugo::emulated::add_epi16
#define _mm512_add_epi32 colugo::emulated::add_epi32
#define _mm512_add_ps colugo::emulated::add_ps
#define _mm512_and_si512 colugo::emulated::and_si512
#define _mm512_broadcast_i32x4 colugo::emulated::broadcast_i32x4
#define _mm512_broadcast_i64x4 colugo::emulated::broadcast_i64x4
#define _mm512_castps512_ps256 colugo::emulated::castps512_ps256
#define _mm512_castps_si512 colugo::emulated::castps_si512
#define _mm512_castsi512_ps colugo::emulated::castsi512_ps
#define _mm512_cmp_ps_mask(a, b, predicate) colugo::emulated::cmp_ps_mask<predicate>(a, b)
#define _mm512_cvtepi32_epi16 colugo::emulated::cvtepi32_epi16
#define _mm512_cvtepi32_epi8 colugo::emulated::cvtepi32_epi8
#define _mm512_cvtepi32_ps colugo::emulated::cvtepi32_ps
#define _mm512_cvtepu8_epi16 colugo::emulated::cvtepu8_epi16
#define _mm512_cvtph_ps colugo::emulated::cvtph_ps
#define _mm512_cvtps_epi32 colugo::emulated::cvtps_epi32
#define _mm512_cvtss_f32 colugo::emulated::cvtss_f32
#define _mm512_cvttps_epi32 colugo::emulated::cvttps_epi32
#define _mm512_div_ps colugo::emulated::div_ps
#define _mm512_dpbf16_ps colugo::emulated::dpbf16_ps
#define _mm512_dpbusd_epi32 colugo::emulated::dpbusd_epi32
#define _mm512_dpwssd_epi32 colugo::emulated::dpwssd_epi32
#define _mm512_extractf32x8_ps(a, half) colugo::emulated::extractf32x8_ps<half>(a)
#define _mm512_fmadd_ps colugo::emulated::fmadd_ps
#define _mm512_loadu_ps colugo::emulated::loadu_ps
#define _mm512_loadu_si512 colugo::emulated::loadu_si512
#define _mm512_maddubs_epi16 colugo::emulated::maddubs_epi16
#define _mm512_mask_blend_epi32 colugo::emulated::mask_blend_epi32
#define _mm512_mask_blend_ps colugo::emulated::mask_blend_ps
#define _mm512_mask_permutexvar_epi16 colugo::emulated::mask_permutexvar_epi16
#define _mm512_mask_shuffle_epi8 colugo::emulated::mask_shuffle_epi8
#define _mm512_mask_storeu_ps colugo::emulated::mask_storeu_ps
#define _mm512_maskz_add_epi16 colugo::emulated::maskz_add_epi16
#define _mm512_maskz_loadu_ps colugo::emulated::maskz_loadu_ps
#define _mm512_maskz_mov_ps colugo::emulated::maskz_mov_ps
#define _mm512_max_ps colugo::emulated::max_ps
#define _mm512_min_ps colugo::emulated::min_ps
#define _mm512_mul_ps colugo::emulated::mul_ps
#define _mm512_or_si512 colugo::emulated::or_si512
#define _mm512_permutexvar_epi16 colugo::emulated::permutexvar_epi16
#define _mm512_permutexvar_ps colugo::emulated::permutexvar_ps
#define _mm512_roundscale_ps(a, mode) colugo::emulated::roundscale_ps<mode>(a)
#define _mm512_scalef_ps colugo::emulated::scalef_ps
#define _mm512_set1_epi16 colugo::emulated::set1_epi16
#define _mm512_set1_epi32 colugo::emulated::set1_epi32
#define _mm512_set1_epi8 colugo::emulated::set1_epi8
#define _mm512_set1_ps colugo::emulated::set1_ps
#define _mm512_setr_epi32 colugo::emulated::setr_epi32
#define _mm512_setr_ps colugo::emulated::setr_ps
#define _mm512_setzero_ps colugo::emulated::setzero_ps
#define _mm512_setzero_si512 colugo::emulated::setzero_si512
#define _mm512_shuffle_epi8 colugo::emulated::shuffle_epi8
#define _mm512_shuffle_f32x4(a, b, order) colugo::emulated::shuffle_f32x4<order>(a, b)
#define _mm512_shuffle_ps(a, b, order) colugo::emulated::shuffle_ps<order>(a, b)
#define _mm512_slli_epi16 colugo::emulated::slli_epi16
#define _mm512_slli_epi32 colugo::emulated::slli_epi32
#define _mm512_srli_epi16 colugo::emulated::srli_epi16
#define _mm512_srli_epi32 colugo::emulated::srli_epi32
#define _mm512_storeu_ps colugo::emulated::storeu_ps
#define _mm512_storeu_si512 colugo::emulated::storeu_si512
#define _mm512_sub_epi16 colugo::emulated::sub_epi16
#define _mm512_sub_ps colugo::emulated::sub_ps
#define _mm512_ternarylogic_epi32(a, b, c, table) colugo::emulated::ternarylogic_epi32<table>(a, b, c)
#define _mm512_test_epi16_mask colugo::emulated::test_epi16_mask
#define _mm512_testn_epi8_mask colugo::emulated::testn_epi8_mask
#define _mm512_testn_epi16_mask colugo::emulated::testn_epi16_mask
#define _mm512_xor_si512 colugo::emulated::xor_si512

#undef _tile_dpbf16ps
#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#define _tile_dpbf16ps(sums, rows, panel) colugo::emulated::tile_dpbf16<sums, rows, panel>()
#define _tile_loadconfig colugo::emulated::tile_load_config
#define _tile_loadd(tile, memory, stride) colugo::emulated::tile_load<tile>(memory, stride)
#define _tile_release colugo::emulated::tile_release
#define _tile_stored(tile, memory, stride) colugo::emulated::tile_store<tile>(memory, stride)
#define _tile_zero(tile) colugo::emulated::tile_zero<tile>()
