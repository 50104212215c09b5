// What a model of a given configuration needs from its files, in loading order, and where in ModelWeights it goes.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/weights.h"

namespace colugo {

struct NeededLinear {
    std::string module;  // bare name, without ".weight"
    int64_t n;
    int64_t k;
    LinearWeight* target;
    bool is_table = false;  // looked up by row
};

enum class VectorKind : uint8_t {
    plain,
    negative_exp,  // stored x, wanted -exp(x)
    convolution,   // stored [channels, 1, taps], wanted [taps][channels]
    cache_scale,   // one value above 0; 1 where absent
};

struct NeededVector {
    std::string tensor;  // bare name
    std::vector<int64_t> shape;
    VectorKind kind;
    std::vector<float>* target = nullptr;
    float* scalar = nullptr;  // cache_scale
};

struct WeightList {
    std::vector<NeededLinear> linears;
    std::vector<NeededVector> vectors;
};

// Sizes `weights` to the configuration and lists its parts; lm_head and the MTP head where asked for. The list points
// into `weights`.
WeightList list_weights(ModelWeights& weights, const ModelConfig& config, bool with_lm_head, bool with_mtp);

}  // namespace colugo
