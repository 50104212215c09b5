// A CPU backend that remembers what the linear layers are given, and the keys and values on their way to the cache.
#pragma once

#include <map>
#include <memory>

#include "backend/cpu/cpu_backend.h"
#include "quant/activation_stats.h"

namespace colugo {

class RecordingBackend : public CpuBackend {
 public:
    RecordingBackend(const kernels::KernelTable& table, ThreadPool& threads, ComputeMode mode)
        : CpuBackend(table, threads, mode), threads_(threads) {}

    ThreadPool& threads() const { return threads_; }
    // Forgets, and records from now on; expected_rows: of each layer.
    void record(int64_t expected_rows);
    // Records no more; what there is stays.
    void pause() { expected_rows_ = 0; }

    // Of the layer with this weight. Layers that are called together share theirs. nullptr when it was not called.
    ActivationStats* inputs(const kernels::PackedWeight* weight);
    // Keys after norm and rotation, and values: [rows, num_kv_heads * head_dim]. nullptr when there was no attention.
    ActivationStats* keys() { return keys_.get(); }
    ActivationStats* values() { return values_.get(); }

    void linear(std::span<const LinearCall> calls, TensorView x) override;
    void attention_inputs(TensorView queries, TensorView keys, TensorView values, TensorView cos_sin,
                          const float* q_norm, const float* k_norm, float eps, const AttentionShape& shape,
                          std::span<const AttentionSequence> sequences) override;

 private:
    ThreadPool& threads_;
    int64_t expected_rows_ = 0;  // 0: not recording
    std::map<const kernels::PackedWeight*, std::shared_ptr<ActivationStats>> inputs_;
    std::unique_ptr<ActivationStats> keys_, values_;
};

}  // namespace colugo
