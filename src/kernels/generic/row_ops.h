// The elementwise and normalising row operations of KernelTable (documented there), for any vector.
#pragma once

#include <cstdint>

#include "kernels/generic/nvfp4_scales.h"
#include "kernels/generic/vector_math.h"
#include "kernels/kernel_table.h"

namespace colugo::kernels {

// Four running sums, folded in one order: a tier's result depends on n and the values only.
template <class V>
float sum_of_squares(const float* x, int n) {
    V sum[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
    constexpr int kStep = 4 * V::kWidth;
    int i = 0;
    for (; i + kStep <= n; i += kStep) {
        for (int lane = 0; lane < 4; ++lane) {
            const V value = V::load(x + i + lane * V::kWidth);
            sum[lane] = V::fma(value, value, sum[lane]);
        }
    }
    for (int lane = 0; i < n; i += V::kWidth, ++lane) {
        const V value = load_n<V>(x + i, n - i < V::kWidth ? n - i : V::kWidth);
        sum[lane] = V::fma(value, value, sum[lane]);
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])).reduce_add();
}

// V only names the tier: one tier's code must not be linked into another's.
template <class V>
float inverse_root(float x) {
    return 1.0f / __builtin_sqrtf(x);
}

template <class V>
void rms_norm(float* out, const float* x, const float* weight, int n, float eps) {
    const V scale = V::set(inverse_root<V>(sum_of_squares<V>(x, n) / static_cast<float>(n) + eps));
    for_each_vector<V>(n, [&](int i, int count) {
        const V factor = V::set(1.0f) + load_n<V>(weight + i, count);
        store_n(load_n<V>(x + i, count) * scale * factor, out + i, count);
    });
}

template <class V>
void gated_rms_norm(float* out, const float* x, const float* weight, const float* gate, int n, float eps) {
    const V scale = V::set(inverse_root<V>(sum_of_squares<V>(x, n) / static_cast<float>(n) + eps));
    for_each_vector<V>(n, [&](int i, int count) {
        const V normed = load_n<V>(x + i, count) * scale * load_n<V>(weight + i, count);
        store_n(normed * silu(load_n<V>(gate + i, count)), out + i, count);
    });
}

template <class V>
void l2_norm(float* out, const float* x, int n, float eps, float scale) {
    const V factor = V::set(inverse_root<V>(sum_of_squares<V>(x, n) + eps) * scale);
    for_each_vector<V>(n, [&](int i, int count) { store_n(load_n<V>(x + i, count) * factor, out + i, count); });
}

template <class V>
void rope(float* x, const float* cos_sin, int rotary_dim) {
    const int half = rotary_dim / 2;
    for_each_vector<V>(half, [&](int i, int count) {
        const V cos = load_n<V>(cos_sin + i, count);
        const V sin = load_n<V>(cos_sin + half + i, count);
        const V low = load_n<V>(x + i, count);
        const V high = load_n<V>(x + half + i, count);
        store_n(low * cos - high * sin, x + i, count);
        store_n(high * cos + low * sin, x + half + i, count);
    });
}

template <class V>
void silu_mul(float* out, const float* gate, const float* up, int n) {
    for_each_vector<V>(n, [&](int i, int count) {
        store_n(silu(load_n<V>(gate + i, count)) * load_n<V>(up + i, count), out + i, count);
    });
}

template <class V>
void sigmoid_mul(float* x, const float* gate, int n) {
    for_each_vector<V>(n, [&](int i, int count) {
        store_n(load_n<V>(x + i, count) * sigmoid(load_n<V>(gate + i, count)), x + i, count);
    });
}

template <class V>
void conv_silu(float* out, const float* const* inputs, const float* weight, int taps, int n) {
    for_each_vector<V>(n, [&](int i, int count) {
        V sum = V::zero();
        for (int tap = 0; tap < taps; ++tap) {
            const float* tap_weight = weight + static_cast<int64_t>(tap) * n;
            sum = V::fma(load_n<V>(tap_weight + i, count), load_n<V>(inputs[tap] + i, count), sum);
        }
        store_n(silu(sum), out + i, count);
    });
}

template <class V>
void gdn_gates(float* beta, float* g, const float* b, const float* a, const float* neg_exp_a_log, const float* dt_bias,
               int n) {
    for_each_vector<V>(n, [&](int i, int count) {
        const V step = softplus(load_n<V>(a + i, count) + load_n<V>(dt_bias + i, count));
        store_n(sigmoid(load_n<V>(b + i, count)), beta + i, count);
        store_n(load_n<V>(neg_exp_a_log + i, count) * step, g + i, count);
    });
}

template <class V>
void round_bf16(float* x, int n) {
    for_each_vector<V>(n, [&](int i, int count) { store_n(V::round_bf16(load_n<V>(x + i, count)), x + i, count); });
}

template <class V>
void set_row_op_kernels(KernelTable& table) {
    table.rms_norm = rms_norm<V>;
    table.gated_rms_norm = gated_rms_norm<V>;
    table.l2_norm = l2_norm<V>;
    table.rope = rope<V>;
    table.silu_mul = silu_mul<V>;
    table.sigmoid_mul = sigmoid_mul<V>;
    table.conv_silu = conv_silu<V>;
    table.gdn_gates = gdn_gates<V>;
    table.round_bf16 = round_bf16<V>;
    table.nvfp4_scales = nvfp4_scales<V>;
}

}  // namespace colugo::kernels
