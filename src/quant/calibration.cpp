#include "quant/calibration.h"

#include <algorithm>

namespace colugo {

namespace {

int64_t longest(const TokenSequences& sequences) {
    size_t most = 0;
    for (const std::vector<int32_t>& tokens : sequences) most = std::max(most, tokens.size());
    return static_cast<int64_t>(most);
}

float eps(const ModelConfig& config) {
    return static_cast<float>(config.rms_norm_eps);
}

}  // namespace

int64_t count_tokens(const TokenSequences& sequences) {
    int64_t tokens = 0;
    for (const std::vector<int32_t>& sequence : sequences) tokens += static_cast<int64_t>(sequence.size());
    return tokens;
}

uint64_t calibration_disk_bytes(const ModelConfig& config, const TokenSequences& sequences) {
    return static_cast<uint64_t>(2 * count_tokens(sequences) * config.hidden_size) * sizeof(float);
}

Calibration::Calibration(const ModelConfig& config, const TokenSequences& sequences, RecordingBackend& backend,
                         const std::string& scratch)
    : config_(config),
      sequences_(sequences),
      backend_(backend),
      threads_(backend.threads()),
      runner_(config, backend, longest(sequences)),
      streams_{RowFile(scratch + "-0", count_tokens(sequences), config.hidden_size),
               RowFile(scratch + "-1", count_tokens(sequences), config.hidden_size)},
      memory_(static_cast<size_t>(4 * longest(sequences) * config.hidden_size) * sizeof(float)),
      head_inputs_(config.hidden_size, 2 * count_tokens(sequences)) {
    const int64_t rows = longest(sequences);
    float* next = memory_.as<float>();
    x_ = TensorView(next, rows, config.hidden_size);
    hidden_ = TensorView(next + rows * config.hidden_size, rows, config.hidden_size);
    concat_ = TensorView(next + 2 * rows * config.hidden_size, rows, 2 * config.hidden_size);
}

void Calibration::read_embeddings(TensorView out, std::span<const int32_t> tokens, const StoredTensor& table) const {
    for (size_t i = 0; i < tokens.size(); ++i) {
        const std::span<float> row(out.f32(static_cast<int64_t>(i)), static_cast<size_t>(config_.hidden_size));
        read_floats(row, table, static_cast<uint64_t>(tokens[i]) * row.size());
    }
    backend_.round_to_storage(out);
    table.drop();
}

void Calibration::embed(const StoredTensor& table) {
    int64_t row = 0;
    for (const std::vector<int32_t>& tokens : sequences_) {
        TensorView x = x_.first_rows(static_cast<int64_t>(tokens.size()));
        read_embeddings(x, tokens, table);
        streams_[0].write(x, row);
        row += x.rows;
    }
    streams_[0].sync();
}

void Calibration::run_layer(int64_t index, const LayerWeights& weights, const Progress& progress) {
    backend_.record(count_tokens(sequences_));
    int64_t row = 0;
    for (const std::vector<int32_t>& tokens : sequences_) {
        TensorView x = x_.first_rows(static_cast<int64_t>(tokens.size()));
        streams_[index % 2].read(x, row);
        runner_.run(weights, x);
        streams_[(index + 1) % 2].write(x, row);
        row += x.rows;
        if (progress) progress(row);
    }
    streams_[(index + 1) % 2].sync();
}

void Calibration::run_end(const std::vector<float>& norm, const MtpWeights* mtp, const StoredTensor& table,
                          const Progress& progress) {
    const int64_t rows = count_tokens(sequences_);
    backend_.record(rows);
    head_inputs_ = ActivationStats(config_.hidden_size, mtp != nullptr ? 2 * rows : rows);
    int64_t row = 0;
    for (const std::vector<int32_t>& tokens : sequences_) {
        TensorView x = x_.first_rows(static_cast<int64_t>(tokens.size()));
        TensorView hidden = hidden_.first_rows(x.rows);
        streams_[config_.num_hidden_layers % 2].read(x, row);
        backend_.rms_norm(hidden, x, norm.data(), eps(config_));
        backend_.round_to_storage(hidden);
        head_inputs_.add(hidden, threads_);
        if (mtp != nullptr) run_mtp(*mtp, tokens, hidden, table);
        row += x.rows;
        if (progress) progress(row);
    }
}

// Pairs of a position's hidden and the next one's token, at the latter's position.
void Calibration::run_mtp(const MtpWeights& mtp, const std::vector<int32_t>& tokens, TensorView hidden,
                          const StoredTensor& table) {
    const int64_t pairs = hidden.rows - 1;
    if (pairs <= 0) return;
    TensorView x = x_.first_rows(pairs);
    read_embeddings(x, std::span(tokens).subspan(1), table);
    mtp_input(backend_, config_, mtp, x, hidden.first_rows(pairs), concat_.first_rows(pairs));
    runner_.run(mtp.layer, x, 1);
    TensorView out = hidden.first_rows(pairs);
    backend_.rms_norm(out, x, mtp.norm.data(), eps(config_));
    backend_.round_to_storage(out);
    head_inputs_.add(out, threads_);
}

}  // namespace colugo
