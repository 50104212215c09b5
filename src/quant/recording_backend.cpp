#include "quant/recording_backend.h"

namespace colugo {

void RecordingBackend::record(int64_t expected_rows) {
    expected_rows_ = expected_rows;
    inputs_.clear();
    keys_.reset();
    values_.reset();
}

ActivationStats* RecordingBackend::inputs(const kernels::PackedWeight* weight) {
    const auto found = inputs_.find(weight);
    return found == inputs_.end() ? nullptr : found->second.get();
}

void RecordingBackend::linear(std::span<const LinearCall> calls, TensorView x) {
    if (expected_rows_ > 0) {
        std::shared_ptr<ActivationStats>& first = inputs_[calls.front().weight];
        if (!first) first = std::make_shared<ActivationStats>(x.cols, expected_rows_);
        first->add(x, threads_);
        for (const LinearCall& call : calls.subspan(1)) inputs_[call.weight] = first;
    }
    CpuBackend::linear(calls, x);
}

void RecordingBackend::attention_inputs(TensorView queries, TensorView keys, TensorView values, TensorView cos_sin,
                                        const float* q_norm, const float* k_norm, float eps,
                                        const AttentionShape& shape, std::span<const AttentionSequence> sequences) {
    CpuBackend::attention_inputs(queries, keys, values, cos_sin, q_norm, k_norm, eps, shape, sequences);
    if (expected_rows_ == 0) return;
    if (!keys_) {
        keys_ = std::make_unique<ActivationStats>(keys.cols, expected_rows_);
        values_ = std::make_unique<ActivationStats>(values.cols, expected_rows_);
    }
    keys_->add(keys, threads_);
    values_->add(values, threads_);
}

}  // namespace colugo
