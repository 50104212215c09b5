#include "backend/cpu/cpu_backend.h"

#include <cmath>
#include <cstring>

namespace colugo {

CpuBackend::CpuBackend(const kernels::KernelTable& table, ThreadPool& pool, ComputeMode mode)
    : table_(table), pool_(pool), mode_(mode), scratch_(static_cast<size_t>(pool.size()) * kScratchBytes) {}

void CpuBackend::grow(Buffer& buffer, size_t bytes, size_t keep) {
    if (buffer.size() >= bytes) return;
    Buffer larger(bytes);
    std::copy_n(buffer.data(), keep, larger.data());
    buffer = std::move(larger);
}

void CpuBackend::for_rows(int64_t rows, int64_t floats_per_row, FunctionRef<void(int64_t row)> body) {
    // Waking the pool costs about as much as streaming this many floats.
    constexpr int64_t kSerialFloats = 16384;
    if (rows * floats_per_row <= kSerialFloats || rows == 1) {
        for (int64_t row = 0; row < rows; ++row) body(row);
        return;
    }
    const int64_t block = std::max<int64_t>(1, rows / (pool_.size() * 4));
    const int tasks = static_cast<int>((rows + block - 1) / block);
    pool_.parallel_for(tasks, [&](int task, int) {
        const int64_t end = std::min(rows, (task + 1) * block);
        for (int64_t row = task * block; row < end; ++row) body(row);
    });
}

void CpuBackend::embed(TensorView out, std::span<const int32_t> ids, const kernels::PackedWeight& table) {
    COLUGO_CHECK(static_cast<int64_t>(ids.size()) == out.rows && table.k == out.cols);
    for_rows(out.rows, out.cols, [&](int64_t row) {
        const int32_t id = ids[static_cast<size_t>(row)];
        COLUGO_CHECK(id >= 0 && id < table.n);
        kernels::unpack_row(out.f32(row), table, id);
    });
}

void CpuBackend::gather_rows(TensorView out, TensorView x, std::span<const int32_t> rows) {
    COLUGO_CHECK(static_cast<int64_t>(rows.size()) == out.rows && out.cols == x.cols);
    for (int64_t row = 0; row < out.rows; ++row) {
        std::memcpy(out.f32(row), x.f32(rows[static_cast<size_t>(row)]), static_cast<size_t>(x.cols) * sizeof(float));
    }
}

void CpuBackend::rms_norm(TensorView out, TensorView x, const float* weight, float eps) {
    for_rows(x.rows, x.cols,
             [&](int64_t row) { table_.rms_norm(out.f32(row), x.f32(row), weight, static_cast<int>(x.cols), eps); });
}

void CpuBackend::round_to_storage(TensorView x) {
    if (mode_ == ComputeMode::f32) return;
    for_rows(x.rows, x.cols, [&](int64_t row) { table_.round_bf16(x.f32(row), static_cast<int>(x.cols)); });
}

void CpuBackend::silu_mul(TensorView out, TensorView gate, TensorView up) {
    for_rows(out.rows, 2 * out.cols, [&](int64_t row) {
        table_.silu_mul(out.f32(row), gate.f32(row), up.f32(row), static_cast<int>(out.cols));
    });
}

void CpuBackend::gated_rms_norm(TensorView x, TensorView gate, const float* weight, float eps, const GdnShape& shape) {
    for_rows(x.rows, 2 * x.cols, [&](int64_t row) {
        for (int head = 0; head < shape.num_value_heads; ++head) {
            float* values = x.f32(row) + head * shape.value_dim;
            table_.gated_rms_norm(values, values, weight, gate.f32(row) + head * shape.value_dim, shape.value_dim, eps);
        }
    });
}

}  // namespace colugo
