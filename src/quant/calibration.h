// The calibration sequences on their way through a model, a layer at a time, so that one layer's weights are in memory.
// Between layers the residual stream of all sequences lies on disk, before and after in two files: a layer that was cut
// off can be run again.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/weights.h"
#include "quant/layer_runner.h"
#include "quant/recording_backend.h"
#include "quant/row_file.h"

namespace colugo {

using TokenSequences = std::vector<std::vector<int32_t>>;

int64_t count_tokens(const TokenSequences& sequences);
// What a calibration keeps on disk.
uint64_t calibration_disk_bytes(const ModelConfig& config, const TokenSequences& sequences);

class Calibration {
 public:
    // Called with the number of tokens that have passed a layer.
    using Progress = std::function<void(int64_t tokens)>;

    // scratch: the beginning of the files' paths. Borrows all.
    Calibration(const ModelConfig& config, const TokenSequences& sequences, RecordingBackend& backend,
                const std::string& scratch);

    // The residual stream before the first layer. table: embed_tokens, [vocab_size, hidden_size].
    void embed(const StoredTensor& table);
    // From the stream before layer `index` to that behind it. The backend records what the layer's parts are given.
    void run_layer(int64_t index, const LayerWeights& weights, const Progress& progress);
    // From the stream behind the last layer to the head, and through the MTP head to the head again. norm: the final
    // one. mtp: may be nullptr.
    void run_end(const std::vector<float>& norm, const MtpWeights* mtp, const StoredTensor& table,
                 const Progress& progress);
    // What the head is given, after run_end().
    ActivationStats& head_inputs() { return head_inputs_; }

 private:
    void read_embeddings(TensorView out, std::span<const int32_t> tokens, const StoredTensor& table) const;
    void run_mtp(const MtpWeights& mtp, const std::vector<int32_t>& tokens, TensorView hidden,
                 const StoredTensor& table);

    const ModelConfig& config_;
    const TokenSequences& sequences_;
    RecordingBackend& backend_;
    ThreadPool& threads_;
    LayerRunner runner_;
    RowFile streams_[2];  // before layers of even and odd index
    Buffer memory_;       // the views below, of the longest sequence
    TensorView x_;        // [longest, hidden_size]
    TensorView hidden_;   // [longest, hidden_size]
    TensorView concat_;   // [longest, 2 hidden_size]
    ActivationStats head_inputs_;
};

}  // namespace colugo
