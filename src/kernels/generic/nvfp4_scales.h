// The block scales of NVFP4 weights by least error (KernelTable::nvfp4_scales), for any vector.
#pragma once

#include <cstdint>

#include "kernels/packed_weight.h"

namespace colugo::kernels {

// sum importance (w - e2m1(w / scale) scale)^2 of 16 values, added by halves: i and i + 8, then + 4, + 2, + 1, with no
// fused steps, so that every tier finds the same sum.
template <class V>
float nvfp4_block_error(const float* w, const float* importance, float scale) {
    constexpr int kVectors = 16 / V::kWidth;
    const V factor = V::set(scale);
    V terms[kVectors];
    for (int i = 0; i < kVectors; ++i) {
        const V value = V::load(w + i * V::kWidth);
        const V product = V::round_e2m1(value / factor) * factor;
        const V error = value - product;
        terms[i] = error * error * V::load(importance + i * V::kWidth);
    }
    for (int half = kVectors / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) terms[i] = terms[i] + terms[i + half];
    }
    return terms[0].reduce_add();
}

template <class V>
void nvfp4_scales(uint8_t* codes, double* error, const float* w, const float* importance, int k, float global_scale,
                  const float* e4m3_values) {
    constexpr int kBelow = 4, kAbove = 6;  // of the code the largest magnitude asks for: factors 0.7 to 1.7
    constexpr int kSmallest = 1, kLargest = 0x7e;
    for (int block = 0; block < k / 16; ++block, w += 16, importance += 16) {
        const int first = codes[block] - kBelow < kSmallest ? kSmallest : codes[block] - kBelow;
        const int last = codes[block] + kAbove > kLargest ? kLargest : codes[block] + kAbove;
        // Where candidates are as good, the one the largest magnitude asks for, then the smallest.
        int best = codes[block];
        float least = nvfp4_block_error<V>(w, importance, e4m3_values[best] * global_scale);
        for (int code = first; code <= last; ++code) {
            const float candidate = nvfp4_block_error<V>(w, importance, e4m3_values[code] * global_scale);
            if (candidate < least) {
                least = candidate;
                best = code;
            }
        }
        codes[block] = static_cast<uint8_t>(best);
        *error += static_cast<double>(least);
    }
}

}  // namespace colugo::kernels
