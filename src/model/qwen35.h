// The forward pass of the Qwen3.5/3.6 dense hybrid family (qwen35.md 3 and 4): embedding, three Gated DeltaNet layers
// to each gated-attention layer, final norm, head; and the multi-token-prediction (MTP) head beside it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/decoder_layer.h"
#include "model/draft_buffers.h"
#include "model/page_layout.h"
#include "model/sequence_state.h"

namespace colugo {

// Where a pass leaves the recurrent state of a page it feeds (RecurrentLayout).
struct PassPage {
    std::byte* rows;         // takes the page's rows: `rows` of the sequence for a page that was begun before
    std::byte* next_border;  // takes S at the page's end, where the pass gets there
};

// A copy of the tail as it is after the first `rows` rows of the pass.
struct TailCopy {
    int rows;
    std::byte* tail;
};

// Rows of one sequence in a batch: the next `tokens` of it, in order, and behind them a tree of drafts.
struct SequenceRows {
    SequenceState* sequence;
    std::span<const int32_t> tokens;
    // Of every page the tokens and drafts lie in. Empty: the sequence's own memory is moved on in place, which nobody
    // else may hold then, and drafts stay within the page of the last token.
    std::span<const PassPage> pages = {};
    std::span<const TailCopy> tails = {};
    // A draft's parent is an earlier draft, or -1 for the last of `tokens`. Ascending by depth; of the drafts in a
    // page's last column at most one has children; at most kMaxDraftRows.
    std::span<const int32_t> drafts = {};
    std::span<const int32_t> draft_parents = {};
};

// Rows of a tree that the MTP head drafts along: row 0 is the sequence's next token, which the trunk has not seen, and
// what the head makes of a row drafts its children.
struct MtpTree {
    SequenceState* sequence;
    std::span<const int32_t> tokens;   // of all rows; those before `first_new` were fed by earlier calls
    std::span<const int32_t> parents;  // -1 of row 0, an earlier row of the others; ascending by depth
    size_t first_new;
    std::span<const float* const> hidden;  // of each new row what its parent gave; of row 0 the trunk's pending one
};

struct ModelOptions {
    kernels::KvType kv_type = kernels::KvType::bf16;
    int max_rows = 512;           // of one batch
    int max_draft_rows = 0;       // of these, drafts
    int max_draft_sequences = 0;  // that have drafts in it
};

class Qwen35 {
 public:
    // Config and weights must outlive the model; the backend is used by one thread at a time.
    Qwen35(const ModelConfig& config, const ModelWeights& weights, Backend& backend, const ModelOptions& options);

    const ModelConfig& config() const { return config_; }
    const PageLayout& page_layout() const { return page_layout_; }
    const RecurrentLayout& recurrent_layout() const { return recurrent_layout_; }
    bool has_mtp() const { return weights_.mtp.has_value(); }
    int max_rows() const { return max_rows_; }
    size_t workspace_bytes() const { return workspace_bytes_; }

    // Feeds every sequence's tokens and moves it on by their number, its pointers to what now holds its state; each
    // sequence appears once. Pages must cover the new positions. The MTP head's keys and values of these positions are
    // stored too. At most max_rows rows. Rows of the batch are each sequence's tokens, then its drafts; a draft leaves
    // nothing behind until commit_drafts.
    void forward(std::span<const SequenceRows> batch);
    // After forward(), before the next one: drafts of the batch's sequence `index`, each a child of the one before and
    // the first a child of the last token, become its next tokens.
    void commit_drafts(size_t index, std::span<const int32_t> path);

    // After forward(): raw logits (padding ids included) of the given rows of that batch. out: [rows.size(),
    // vocab_size]
    void logits(TensorView out, std::span<const int32_t> rows);

    // After forward(): the given row's hidden after the final norm, what the head reads: [hidden_size].
    const float* hidden(int32_t row) const { return hidden_.f32(row); }

    // The new rows of some trees, tree after tree. hidden_out [rows, hidden_size]: after mtp.norm, what a row's
    // children take. logits_out: for the token behind each row, [rows, vocab_size], or of groups of the vocabulary
    // alone as LinearCall has them. The sequences stay as they are, and may not be fed between calls for one tree.
    void mtp_draft(std::span<const MtpTree> trees, TensorView hidden_out, TensorView logits_out,
                   std::span<const int32_t> groups = {});

    // Makes page `to` what `from` was with its first `columns` positions written.
    void copy_page(std::byte* to, const std::byte* from, int columns) const;

    // Sees the residual stream after each layer of forward(). For tests.
    void observe_layers(std::function<void(int layer, TensorView x)> observer) { observer_ = std::move(observer); }

 private:
    LayerContext context(int64_t rows);
    void begin_pass(std::span<const SequenceRows> batch);
    void add_drafts(const SequenceRows& fed);
    void set_draft_keys(int layer);
    void set_gdn_states(int layer, std::span<const SequenceRows> batch);
    void finish_pass(std::span<const SequenceRows> batch);
    void fill_mtp(std::span<const SequenceRows> batch);
    TensorView mtp_inputs(std::span<const int32_t> tokens, TensorView hidden);
    void head(TensorView out, TensorView hidden, std::span<const int32_t> groups = {});

    const ModelConfig& config_;
    const ModelWeights& weights_;
    Backend& backend_;
    kernels::KvType kv_type_;
    int max_rows_;
    PageLayout page_layout_;
    RecurrentLayout recurrent_layout_;
    std::vector<float> inverse_frequencies_;
    std::function<void(int, TensorView)> observer_;

    size_t workspace_bytes_ = 0;
    Buffer memory_;          // the views below
    Arena arena_;            // inside a layer
    TensorView x_;           // [max_rows, hidden_size] residual stream
    TensorView normed_;      // [max_rows, hidden_size]
    TensorView hidden_;      // [max_rows, hidden_size] after the final norm
    TensorView mtp_hidden_;  // [max_rows, hidden_size] the hidden before each row
    TensorView mtp_concat_;  // [max_rows, 2 hidden_size] embedding, then hidden
    TensorView cos_sin_;     // [max_rows, rotary_dim]
    std::vector<int32_t> tokens_;
    DraftBuffers draft_buffers_;
    // Of each sequence of the pass.
    struct Drafted {
        SequenceState* sequence;
        DraftRows tree;
        int first_row;      // of its drafts, in the batch
        int first_draft;    // among the pass's drafts
        int number;         // among the sequences that have any
        size_t first_page;  // in pass_pages_, of the first draft's
    };
    std::vector<Drafted> drafted_;
    std::vector<int32_t> draft_parents_, draft_depths_;  // of the pass's drafts
    std::vector<AttentionSequence> attention_;
    std::vector<GdnSequence> gdn_;
    std::vector<PassPage> pass_pages_;     // of all sequences, one after the other
    std::vector<GdnPageState> gdn_pages_;  // the same, in one layer
    std::vector<ConvWindow> windows_;      // of all sequences, in one layer
};

}  // namespace colugo
