// A backend on each tier the CPU has, and random matrices for it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"

namespace colugo::testing {

inline std::vector<kernels::Tier> available_tiers() {
    std::vector<kernels::Tier> tiers;
    for (kernels::Tier tier : {kernels::Tier::scalar, kernels::Tier::avx2, kernels::Tier::avx512,
                               kernels::Tier::avx512_bf16, kernels::Tier::amx}) {
        if (kernels::tier_available(tier)) tiers.push_back(tier);
    }
    return tiers;
}

inline std::string tier_test_name(const ::testing::TestParamInfo<kernels::Tier>& info) {
    return kernels::tier_name(info.param);
}

struct Device {
    Device(kernels::Tier tier, int threads, ComputeMode mode)
        : pool(threads), backend(kernels::kernel_table(tier), pool, mode) {}

    ThreadPool pool;
    CpuBackend backend;
};

// [rows, cols] f32 with its memory.
struct Matrix {
    Matrix(int64_t rows_, int64_t cols_) : rows(rows_), cols(cols_), values(static_cast<size_t>(rows_ * cols_)) {}

    TensorView view() { return {values.data(), rows, cols}; }
    // Rows [begin, begin + count) as a tensor of their own.
    TensorView rows_view(int64_t begin, int64_t count) { return {row(begin), count, cols}; }
    float* row(int64_t index) { return values.data() + index * cols; }
    const float* row(int64_t index) const { return values.data() + index * cols; }
    bool same_bits(const Matrix& other) const {
        return values.size() == other.values.size() &&
               std::memcmp(values.data(), other.values.data(), values.size() * sizeof(float)) == 0;
    }

    int64_t rows;
    int64_t cols;
    std::vector<float> values;
};

inline Matrix random_matrix(int64_t rows, int64_t cols, uint32_t seed, float low = -1.0f, float high = 1.0f) {
    Matrix matrix(rows, cols);
    std::mt19937 bits(seed);
    for (float& value : matrix.values) value = low + (high - low) * static_cast<float>(bits() >> 8) * 0x1p-24f;
    return matrix;
}

}  // namespace colugo::testing
