// The multi-token-prediction head (qwen35.md 4.1): one gated-attention layer over pairs (hidden of p, token at p + 1).
// The pair sits at position p + 1 of the same pages as the trunk, so both are cut at the same length. Position 0 has no
// pair and therefore no entry.
#include <cstring>

#include "model/qwen35.h"

namespace colugo {

// Of each row, in x_.
TensorView Qwen35::mtp_inputs(std::span<const int32_t> tokens, TensorView hidden) {
    const auto rows = static_cast<int64_t>(tokens.size());
    TensorView x = x_.first_rows(rows);
    backend_.embed(x, tokens, weights_.embed_tokens.packed);
    mtp_input(backend_, config_, *weights_.mtp, x, hidden, mtp_concat_.first_rows(rows));
    return x;
}

void Qwen35::fill_mtp(std::span<const SequenceRows> batch) {
    tokens_.clear();
    std::vector<AttentionSequence>& sequences = attention_;
    const size_t hidden_bytes = static_cast<size_t>(config_.hidden_size) * sizeof(float);
    for (size_t i = 0; i < batch.size(); ++i) {
        AttentionSequence& range = sequences[i];
        const int first_row = range.first_row;
        const int skipped = range.position == 0 && range.rows > 0 ? 1 : 0;
        range.first_row = static_cast<int>(tokens_.size());
        for (int row = skipped; row < range.rows; ++row) {
            const float* before =
                row > 0 ? hidden_.f32(first_row + row - 1) : recurrent_layout_.pending_hidden(batch[i].sequence->tail);
            std::memcpy(mtp_hidden_.f32(static_cast<int64_t>(tokens_.size())), before, hidden_bytes);
            tokens_.push_back(batch[i].tokens[static_cast<size_t>(row)]);
        }
        for (int row = 0; row < range.drafts.rows; ++row) {
            const int parent = range.drafts.parents[row];
            const int before = parent >= 0 ? drafted_[i].first_row + parent : drafted_[i].first_row - 1;
            std::memcpy(mtp_hidden_.f32(static_cast<int64_t>(tokens_.size())), hidden_.f32(before), hidden_bytes);
            tokens_.push_back(batch[i].drafts[static_cast<size_t>(row)]);
        }
        range.rows -= skipped;
        range.position += skipped;
        range.first_position = 1;
    }
    const auto rows = static_cast<int64_t>(tokens_.size());
    if (rows > 0) {
        TensorView x = mtp_inputs(tokens_, mtp_hidden_.first_rows(rows));
        set_draft_keys(static_cast<int>(page_layout_.trunk.size()));
        backend_.rope_table(cos_sin_.first_rows(rows), sequences, inverse_frequencies_);
        attention_keys(context(rows), x, weights_.mtp->layer, page_layout_.mtp, sequences);
    }
}

void Qwen35::mtp_draft(std::span<const MtpTree> trees, TensorView hidden_out, TensorView logits_out,
                       std::span<const int32_t> groups) {
    COLUGO_CHECK(has_mtp() && static_cast<int>(trees.size()) <= draft_buffers_.max_sequences());
    tokens_.clear();
    attention_.clear();
    draft_depths_.clear();
    const int layer = static_cast<int>(page_layout_.trunk.size());
    const int most = draft_buffers_.max_rows() / draft_buffers_.max_sequences();
    for (size_t i = 0; i < trees.size(); ++i) {
        const MtpTree& tree = trees[i];
        const auto rows = static_cast<int>(tree.tokens.size());
        COLUGO_CHECK(rows <= most && tree.hidden.size() + tree.first_new == tree.tokens.size());
        const size_t first_depth = draft_depths_.size();
        for (const int32_t parent : tree.parents) {
            draft_depths_.push_back(parent < 0 ? 1 : draft_depths_[first_depth + static_cast<size_t>(parent)] + 1);
        }
        const int first_draft = static_cast<int>(i) * most;
        attention_.push_back({.first_row = static_cast<int>(tokens_.size()),
                              .rows = 0,
                              .position = tree.sequence->length,
                              .first_position = 1,
                              .pages = tree.sequence->pages.data(),
                              .drafts = {.rows = rows,
                                         .first = static_cast<int>(tree.first_new),
                                         .parents = tree.parents.data(),
                                         .depths = draft_depths_.data() + first_depth},
                              .draft_keys = draft_buffers_.keys(layer, first_draft),
                              .draft_values = draft_buffers_.values(layer, first_draft)});
        for (size_t row = tree.first_new; row < tree.tokens.size(); ++row) {
            std::memcpy(mtp_hidden_.f32(static_cast<int64_t>(tokens_.size())), tree.hidden[row - tree.first_new],
                        static_cast<size_t>(config_.hidden_size) * sizeof(float));
            tokens_.push_back(tree.tokens[row]);
        }
    }
    const auto count = static_cast<int64_t>(tokens_.size());
    COLUGO_CHECK(count <= max_rows_);
    TensorView x = mtp_inputs(tokens_, mtp_hidden_.first_rows(count));
    const LayerContext layer_context = context(count);
    backend_.rope_table(layer_context.cos_sin, attention_, inverse_frequencies_);
    attention_layer(layer_context, x, weights_.mtp->layer, page_layout_.mtp, attention_);
    backend_.rms_norm(hidden_out, x, weights_.mtp->norm.data(), static_cast<float>(config_.rms_norm_eps));
    backend_.round_to_storage(hidden_out);
    head(logits_out, hidden_out, groups);
}

}  // namespace colugo
