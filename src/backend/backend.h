// The device seam: what a forward pass asks of a device, one call per step of the paper. Everything between calls is
// f32; rounding to a storage type happens inside the operation that produces what a later row
// reads.
#pragma once

#include <cstdint>
#include <span>

#include "backend/compute_mode.h"
#include "base/tensor_view.h"
#include "kernels/kernel_table.h"

namespace colugo {

// One product of a set that shares its input.
struct LinearCall {
    const kernels::PackedWeight* weight;
    TensorView out;    // [rows, weight->n]
    bool add = false;  // out += product: the residual
    // Where there are any: only these groups of kernels::kPanel outputs are computed, ascending. out is then
    // [rows, kPanel * groups.size()]; of a group that ends beyond weight->n, what is beyond stays as it was.
    std::span<const int32_t> groups = {};
};

// One attention layer's tiles inside a page, and its scales.
struct KvSlice {
    int64_t key_offset;    // bytes from the page's start to the key tiles, [num_kv_heads] tiles
    int64_t value_offset;  // to the value tiles
    float key_scale = 1.0f;
    float value_scale = 1.0f;
};

inline constexpr int kMaxDraftRows = 32;  // of one sequence: a page has as many

// Rows that continue a sequence along a tree (qwen35.md, "The grid form"). They follow the sequence's own
// rows in the batch and see those and their ancestors. What later rows would read of them is kept beside the sequence's
// state until one path is committed. Ascending by depth; of those in a page's last column at most one has children.
struct DraftRows {
    int rows = 0;   // at most kMaxDraftRows
    int first = 0;  // the first that is in the batch; of those before, only the keys and values kept of them count
    const int32_t* parents = nullptr;  // [rows] an earlier one; -1: the sequence's last row
    const int32_t* depths = nullptr;   // [rows] 1: a child of the sequence's last row

    int depth() const { return rows > 0 ? depths[rows - 1] : 0; }
    int batch_rows() const { return rows - first; }
};

// The rows of one sequence in a batch: rows [first_row, first_row + rows) hold positions position, position + 1, ...
struct AttentionSequence {
    int first_row;
    int rows;
    int64_t position;
    int64_t first_position;   // positions below it have no entry and are never seen
    std::byte* const* pages;  // [position / 32 + 1 ...] page starts, in position order
    DraftRows drafts = {};
    float* draft_keys = nullptr;    // of this layer, filled: [drafts.rows, num_kv_heads * head_dim]
    float* draft_values = nullptr;  // the same

    int64_t last_position() const { return position + rows - 1; }
};

struct AttentionShape {
    int num_heads;
    int num_kv_heads;
    int head_dim;
    int rotary_dim;
    kernels::KvType kv_type;
    KvSlice slice;
};

struct GdnShape {
    int num_key_heads;
    int num_value_heads;
    int key_dim;
    int value_dim;
    int conv_taps;

    int key_width() const { return num_key_heads * key_dim; }
    int value_width() const { return num_value_heads * value_dim; }
    int conv_width() const { return 2 * key_width() + value_width(); }
};

// One page of one sequence in one Gated DeltaNet layer.
struct GdnPageState {
    const float* state;  // S at the page's begin: [num_value_heads] x panels [value_dim / 16][key_dim][16]
    float* next_state;   // S at its end, written when a row fills the page; may be `state`
    float* keys;         // of the page's rows: [num_key_heads][2][key_dim][16]
    float* deltas;       // [num_value_heads][32][value_dim]
    float* log_decays;   // [num_value_heads][32]
};

// The last taps - 1 conv inputs after the first `rows` rows of a pass, oldest first: [taps - 1][conv_width].
struct ConvWindow {
    int rows;
    float* inputs;
};

// What is kept of draft rows in one layer, filled. A row's slot is its number.
struct GdnDrafts {
    float* inputs;      // conv inputs: [rows, conv_width]
    float* keys;        // as of a page
    float* deltas;      // as of a page
    float* log_decays;  // as of a page
};

struct GdnSequence {
    int first_row;
    int rows;
    int64_t position;
    const GdnPageState* pages;            // of every page the rows lie in, and the draft rows
    const float* window;                  // the conv inputs before the first row
    std::span<const ConvWindow> windows;  // to be filled; the last may take the place of `window`
    DraftRows drafts = {};
    GdnDrafts kept = {};

    int64_t last_position() const { return position + rows - 1; }
};

// Some draft rows, each a child of the one before and the first of the sequence's last row, that become its next rows.
struct DraftPath {
    std::span<const int32_t> rows;  // their numbers in the tree
    int64_t position;               // of the first
};

class Backend {
 public:
    virtual ~Backend() = default;

    // out[row] = table row ids[row]
    virtual void embed(TensorView out, std::span<const int32_t> ids, const kernels::PackedWeight& table) = 0;
    // out[row] = x[rows[row]]
    virtual void gather_rows(TensorView out, TensorView x, std::span<const int32_t> rows) = 0;
    virtual void rms_norm(TensorView out, TensorView x, const float* weight, float eps) = 0;
    // To the mode's storage type, in place.
    virtual void round_to_storage(TensorView x) = 0;
    // Every call's out = x W'. All weights have k = x.cols.
    virtual void linear(std::span<const LinearCall> calls, TensorView x) = 0;
    // out = silu(gate) * up
    virtual void silu_mul(TensorView out, TensorView gate, TensorView up) = 0;

    // [rows, rotary_dim]: cos then sin of position x inverse frequency, for each row of each sequence.
    virtual void rope_table(TensorView cos_sin, std::span<const AttentionSequence> sequences,
                            std::span<const float> inverse_frequencies) = 0;
    // Norm and rotation of each query head, in place in `queries` [rows, heads * 2 * head_dim] (a head's query, then
    // its gate), and of each key head, which go with the values into the pages.
    virtual void attention_inputs(TensorView queries, TensorView keys, TensorView values, TensorView cos_sin,
                                  const float* q_norm, const float* k_norm, float eps, const AttentionShape& shape,
                                  std::span<const AttentionSequence> sequences) = 0;
    // Stores the keys and values of a path's rows where the sequence's own go. keys, values: as AttentionSequence keeps
    // them.
    virtual void attention_commit(const AttentionShape& shape, std::byte* const* pages, const DraftPath& path,
                                  const float* keys, const float* values) = 0;
    // One layer's tiles of page `to` become those of `from` as they were with its first `columns` positions written.
    virtual void copy_kv(std::byte* to, const std::byte* from, int columns, const AttentionShape& shape) = 0;
    // out [rows, heads * head_dim] = softmax(q k') v * sigmoid(gate)
    virtual void attention(TensorView out, TensorView queries, const AttentionShape& shape,
                           std::span<const AttentionSequence> sequences) = 0;

    // out = silu(causal depthwise convolution of inputs), inputs rounded to storage first, in place; fills the
    // windows. weight: [taps][conv_width]
    virtual void gdn_convolution(TensorView out, TensorView inputs, const float* weight, const GdnShape& shape,
                                 std::span<const GdnSequence> sequences) = 0;
    // In place: each query and key head of `mixed` [rows, conv_width] to unit length, queries times key_dim^-1/2;
    // b [rows, heads] becomes beta, a becomes the log decay g.
    virtual void gdn_inputs(TensorView mixed, TensorView b, TensorView a, const float* neg_exp_a_log,
                            const float* dt_bias, const GdnShape& shape) = 0;
    // out [rows, value_width]; adds the rows to their pages, and fills next_state of the pages they complete.
    virtual void gated_delta_net(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                                 std::span<const GdnSequence> sequences) = 0;
    // Adds a path's rows to their pages (pages: from that of path.position on), fills next_state of one they complete,
    // and moves the window on.
    virtual void gdn_commit(const GdnShape& shape, const GdnPageState* pages, const DraftPath& path,
                            const GdnDrafts& kept, float* window) = 0;
    // Each head of x, in place: x = norm(x) * weight * silu(gate)
    virtual void gated_rms_norm(TensorView x, TensorView gate, const float* weight, float eps,
                                const GdnShape& shape) = 0;
};

}  // namespace colugo
