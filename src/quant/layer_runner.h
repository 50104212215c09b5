// One decoder layer over one whole sequence, with nothing kept from one call to the next: what calibration needs of the
// forward pass.
#pragma once

#include <vector>

#include "model/decoder_layer.h"

namespace colugo {

class LayerRunner {
 public:
    // longest: positions of a sequence. Config and backend must outlive it.
    LayerRunner(const ModelConfig& config, Backend& backend, int64_t longest);

    // x [rows, hidden_size]: the residual stream at positions first_position, first_position + 1, ...; in place.
    void run(const LayerWeights& weights, TensorView x, int64_t first_position = 0);

    size_t workspace_bytes() const { return workspace_bytes_; }

 private:
    void run_gdn(const LayerWeights& weights, TensorView x);
    void run_attention(const LayerWeights& weights, TensorView x, int64_t first_position);
    LayerContext context(int64_t rows);

    static constexpr int64_t kRows = 512;  // of one pass

    const ModelConfig& config_;
    Backend& backend_;
    std::vector<float> inverse_frequencies_;
    size_t workspace_bytes_;
    Arena arena_;
    Buffer rows_;  // normed_, cos_sin_
    TensorView normed_;
    TensorView cos_sin_;
    int64_t num_pages_;
};

}  // namespace colugo
