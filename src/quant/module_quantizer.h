// One linear layer from plain values to NVFP4 or FP8: scales by least error, codes, and how much of the layer's output
// that costs on rows calibration has seen. Works on a stripe of output rows at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "quant/activation_stats.h"
#include "quant/checkpoint_writer.h"
#include "quant/quantization_plan.h"

namespace colugo {

struct ModuleResult {
    float amax = 0.0f;             // of the weight
    float weight_scale = 0.0f;     // of the whole tensor
    float activation_amax = 0.0f;  // 0: calibration never ran the layer
    float input_scale = 0.0f;      // 0: activations are not quantized
    double saturated = 0.0;        // share of weights beyond the largest code
    double weight_error = 0.0;     // |W - W^| / |W|, columns weighted by what calibration fed them
    double error = 0.0;            // |y - y^| / |y| of the layer on the samples, as written
    double amax_error = 0.0;       // the same with every scale by largest magnitude
};

class ModuleQuantizer {
 public:
    // search: false writes every scale by largest magnitude, as ModelOpt does.
    ModuleQuantizer(CpuBackend& backend, ThreadPool& threads, CheckpointWriter& writer, bool search)
        : backend_(backend), threads_(threads), writer_(writer), search_(search) {}

    // Writes the tensors of modules that share their input and scheme, which other programs multiply as one: NVFP4
    // gives them one weight_scale_2. inputs: what they are given; nullptr where calibration never ran them.
    std::vector<ModuleResult> quantize(std::span<const ModulePlan* const> fused, ActivationStats* inputs);

 private:
    CpuBackend& backend_;
    ThreadPool& threads_;
    CheckpointWriter& writer_;
    bool search_;
};

}  // namespace colugo
