// A CPU backend that keeps a clock on each kind of operation: where a pass spends its time.
#pragma once

#include <array>
#include <chrono>

#include "backend/cpu/cpu_backend.h"

namespace colugo {

class TimedBackend : public CpuBackend {
 public:
    enum Part { kMatmul, kAttention, kGatedDeltaNet, kRest, kParts };
    using CpuBackend::CpuBackend;

    // Seconds since the last clear().
    double seconds(Part part) const { return seconds_[part]; }
    void clear() { seconds_ = {}; }

    void embed(TensorView out, std::span<const int32_t> ids, const kernels::PackedWeight& table) override {
        const Clock clock(*this, kRest);
        CpuBackend::embed(out, ids, table);
    }
    void gather_rows(TensorView out, TensorView x, std::span<const int32_t> rows) override {
        const Clock clock(*this, kRest);
        CpuBackend::gather_rows(out, x, rows);
    }
    void rms_norm(TensorView out, TensorView x, const float* weight, float eps) override {
        const Clock clock(*this, kRest);
        CpuBackend::rms_norm(out, x, weight, eps);
    }
    void linear(std::span<const LinearCall> calls, TensorView x) override {
        const Clock clock(*this, kMatmul);
        CpuBackend::linear(calls, x);
    }
    void silu_mul(TensorView out, TensorView gate, TensorView up) override {
        const Clock clock(*this, kRest);
        CpuBackend::silu_mul(out, gate, up);
    }
    void rope_table(TensorView cos_sin, std::span<const AttentionSequence> sequences,
                    std::span<const float> inverse_frequencies) override {
        const Clock clock(*this, kRest);
        CpuBackend::rope_table(cos_sin, sequences, inverse_frequencies);
    }
    void attention_inputs(TensorView queries, TensorView keys, TensorView values, TensorView cos_sin,
                          const float* q_norm, const float* k_norm, float eps, const AttentionShape& shape,
                          std::span<const AttentionSequence> sequences) override {
        const Clock clock(*this, kAttention);
        CpuBackend::attention_inputs(queries, keys, values, cos_sin, q_norm, k_norm, eps, shape, sequences);
    }
    void attention(TensorView out, TensorView queries, const AttentionShape& shape,
                   std::span<const AttentionSequence> sequences) override {
        const Clock clock(*this, kAttention);
        CpuBackend::attention(out, queries, shape, sequences);
    }
    void gdn_convolution(TensorView out, TensorView inputs, const float* weight, const GdnShape& shape,
                         std::span<const GdnSequence> sequences) override {
        const Clock clock(*this, kGatedDeltaNet);
        CpuBackend::gdn_convolution(out, inputs, weight, shape, sequences);
    }
    void gdn_inputs(TensorView mixed, TensorView b, TensorView a, const float* neg_exp_a_log, const float* dt_bias,
                    const GdnShape& shape) override {
        const Clock clock(*this, kGatedDeltaNet);
        CpuBackend::gdn_inputs(mixed, b, a, neg_exp_a_log, dt_bias, shape);
    }
    void gated_delta_net(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                         std::span<const GdnSequence> sequences) override {
        const Clock clock(*this, kGatedDeltaNet);
        CpuBackend::gated_delta_net(out, mixed, beta, g, shape, sequences);
    }
    void gated_rms_norm(TensorView x, TensorView gate, const float* weight, float eps, const GdnShape& shape) override {
        const Clock clock(*this, kGatedDeltaNet);
        CpuBackend::gated_rms_norm(x, gate, weight, eps, shape);
    }

 private:
    class Clock {
     public:
        Clock(TimedBackend& backend, Part part) : backend_(backend), part_(part) {}
        ~Clock() {
            const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
            backend_.seconds_[part_] += elapsed.count();
        }

     private:
        TimedBackend& backend_;
        Part part_;
        std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    };

    std::array<double, kParts> seconds_{};
};

}  // namespace colugo
