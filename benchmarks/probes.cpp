#include "benchmarks/probes.h"

#include <chrono>
#include <cstdint>
#include <cstring>

#include "base/buffer.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace colugo {

namespace {

constexpr size_t kProbeBytes = size_t{256} << 20;  // far more than any cache level holds

template <typename Body>
double wall_seconds(const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

#if defined(__x86_64__)
__attribute__((target("avx2"))) void read_bytes(const std::byte* begin, size_t bytes) {
    __m256i sum[4] = {};
    for (size_t i = 0; i + 128 <= bytes; i += 128) {
        _mm_prefetch(reinterpret_cast<const char*>(begin + i + 4096), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(begin + i + 4160), _MM_HINT_T0);
        for (size_t j = 0; j < 4; ++j) {
            sum[j] = _mm256_xor_si256(sum[j], _mm256_load_si256(reinterpret_cast<const __m256i*>(begin + i + j * 32)));
        }
    }
    const __m256i all = _mm256_xor_si256(_mm256_xor_si256(sum[0], sum[1]), _mm256_xor_si256(sum[2], sum[3]));
    asm volatile("" : : "x"(all));
}

const double kMultiplyAdds = 4e6 * 12 * 8;

__attribute__((target("avx2,fma"))) void multiply_add() {
    const __m256 factor = _mm256_set1_ps(0.999f);
    const __m256 term = _mm256_set1_ps(1e-3f);
    __m256 a = term, b = term, c = term, d = term, e = term, f = term;
    __m256 g = term, h = term, i = term, j = term, k = term, l = term;
    for (int step = 0; step < 4000000; ++step) {
        a = _mm256_fmadd_ps(a, factor, term);
        b = _mm256_fmadd_ps(b, factor, term);
        c = _mm256_fmadd_ps(c, factor, term);
        d = _mm256_fmadd_ps(d, factor, term);
        e = _mm256_fmadd_ps(e, factor, term);
        f = _mm256_fmadd_ps(f, factor, term);
        g = _mm256_fmadd_ps(g, factor, term);
        h = _mm256_fmadd_ps(h, factor, term);
        i = _mm256_fmadd_ps(i, factor, term);
        j = _mm256_fmadd_ps(j, factor, term);
        k = _mm256_fmadd_ps(k, factor, term);
        l = _mm256_fmadd_ps(l, factor, term);
        asm volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f));
        asm volatile("" : "+x"(g), "+x"(h), "+x"(i), "+x"(j), "+x"(k), "+x"(l));
    }
}
#else
void read_bytes(const std::byte* begin, size_t bytes) {
    uint64_t sum = 0;
    for (size_t i = 0; i + 8 <= bytes; i += 8) sum ^= *reinterpret_cast<const uint64_t*>(begin + i);
    asm volatile("" : : "r"(sum));
}
void multiply_add() {
    float sum = 0;
    for (int i = 0; i < 1000000; ++i) sum = __builtin_fmaf(sum, 0.999f, 1e-3f);
    asm volatile("" : : "r"(sum));
}
#endif

double read_bandwidth(ThreadPool& pool) {
    static const Buffer memory = [] {
        Buffer bytes(kProbeBytes);
        std::memset(bytes.data(), 1, bytes.size());
        return bytes;
    }();
    const int tasks = pool.size() * 8;
    const size_t part = kProbeBytes / static_cast<size_t>(tasks) / 128 * 128;
    const double seconds = wall_seconds([&] {
        pool.parallel_for(tasks,
                          [&](int task, int) { read_bytes(memory.data() + static_cast<size_t>(task) * part, part); });
    });
    return static_cast<double>(part) * tasks / seconds;
}

double multiply_add_rate(ThreadPool& pool) {
    const double seconds = wall_seconds([&] { pool.parallel_for(pool.size(), [](int, int) { multiply_add(); }); });
    return kMultiplyAdds * pool.size() / seconds;
}

}  // namespace colugo
