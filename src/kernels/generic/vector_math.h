// exp, sigmoid, silu and softplus over the lanes of a vector. Every lane is computed by itself, so a value's result
// depends neither on its neighbours nor on its place; the tail of a row goes through load_n and the same sequence.
#pragma once

namespace colugo::kernels {

// Loads and stores the `count` <= V::kWidth leading lanes.
template <class V>
V load_n(const float* p, int count) {
    return count == V::kWidth ? V::load(p) : V::load_partial(p, count);
}
template <class V>
void store_n(V x, float* p, int count) {
    if (count == V::kWidth) {
        x.store(p);
    } else {
        x.store_partial(p, count);
    }
}

// body(i, count) for each vector of a row of n: count is V::kWidth for all but the last.
template <class V, class Body>
void for_each_vector(int n, Body body) {
    int i = 0;
    for (; i + V::kWidth <= n; i += V::kWidth) body(i, V::kWidth);
    if (i < n) body(i, n - i);
}

// x 2^n, rounded once, for x in [0.5, 2] and integral-valued n in [-150, 128].
template <class V>
V times_pow2(V x, V n) {
    if constexpr (requires { V::times_pow2(x, n); }) {
        return V::times_pow2(x, n);
    } else {
        // Wider than one exponent: the first product is exact.
        const V half = V::round(n * V::set(0.5f));
        return x * V::pow2(half) * V::pow2(n - half);
    }
}

// e^x to 2 ulp, subnormal results included; 0 at -infinity, infinity above 88.73, NaN for NaN only.
template <class V>
V exp(V x) {
    // e^-104 < 2^-150 rounds to 0 and e^89 to infinity. The bound comes first: max and min return the second of a pair
    // with a NaN.
    x = V::min(V::set(89.0f), V::max(V::set(-104.0f), x));
    // x = n ln 2 + r, |r| <= ln 2 / 2. The high part of ln 2 has 10 bits, so n times it is exact.
    const V n = V::round(x * V::set(1.44269504f));
    V r = V::fma(n, V::set(-0.693359375f), x);
    r = V::fma(n, V::set(2.12194440e-4f), r);
    // e^r = 1 + r + r^2 q(r), q fitted to a relative error of 3e-9.
    V q = V::set(1.38144672e-3f);
    q = V::fma(q, r, V::set(8.36878084e-3f));
    q = V::fma(q, r, V::set(4.16683927e-2f));
    q = V::fma(q, r, V::set(1.66665196e-1f));
    q = V::fma(q, r, V::set(4.9999994e-1f));
    const V power = V::fma(q * r, r, r) + V::set(1.0f);
    return times_pow2(power, n);
}

// 2^x for x <= 1, to 3 ulp, subnormal results included; 0 at -infinity, NaN for NaN only.
template <class V>
V exp2(V x) {
    x = V::max(V::set(-151.0f), x);  // rounds to 0
    const V n = V::round(x);
    const V r = x - n;
    // Fitted to a relative error of 9e-8.
    V power = V::set(1.32647273e-3f);
    power = V::fma(power, r, V::set(9.67151299e-3f));
    power = V::fma(power, r, V::set(5.55073358e-2f));
    power = V::fma(power, r, V::set(2.40222424e-1f));
    power = V::fma(power, r, V::set(6.93147004e-1f));
    power = V::fma(power, r, V::set(1.0f));
    return times_pow2(power, n);
}

template <class V>
V sigmoid(V x) {
    return V::set(1.0f) / (V::set(1.0f) + exp(V::zero() - x));
}

template <class V>
V silu(V x) {
    return x * sigmoid(x);
}

// log(1 + y) for y in [0, 1], to 3 ulp: 2 atanh(y / (2 + y)), the series in s^2 fitted to a relative error of 5e-9.
template <class V>
V log1p_unit(V y) {
    const V s = y / (V::set(2.0f) + y);
    const V s2 = s * s;
    V p = V::set(0.140093952f);
    p = V::fma(p, s2, V::set(0.140002668f));
    p = V::fma(p, s2, V::set(0.200107992f));
    p = V::fma(p, s2, V::set(0.333332062f));
    const V atanh = V::fma(p * s2, s, s);
    return atanh + atanh;
}

// log(1 + e^x) as max(x, 0) + log(1 + e^-|x|): no overflow, full relative precision far below 0, and x itself above 20.
template <class V>
V softplus(V x) {
    return V::max(V::zero(), x) + log1p_unit(exp(V::zero() - V::abs(x)));
}

// In lane i reduce(x[i]), for i < count.
template <class V, class Reduce>
V gather_each(const V (&x)[V::kWidth], int count, Reduce reduce) {
    float results[V::kWidth];
    for (int i = 0; i < count; ++i) results[i] = reduce(x[i]);
    return load_n<V>(results, count);
}

// In lane i the sum of x[i], for i < count; each is that of V::reduce_add.
template <class V>
V reduce_add_each(const V (&x)[V::kWidth], int count) {
    if constexpr (requires { V::reduce_add_each(x); }) {
        if (count > V::kWidth / 3) return V::reduce_add_each(x);
    }
    return gather_each(x, count, [](V lanes) { return lanes.reduce_add(); });
}

// The same of the greatest.
template <class V>
V reduce_max_each(const V (&x)[V::kWidth], int count) {
    if constexpr (requires { V::reduce_max_each(x); }) {
        if (count > V::kWidth / 3) return V::reduce_max_each(x);
    }
    return gather_each(x, count, [](V lanes) { return lanes.reduce_max(); });
}

}  // namespace colugo::kernels
