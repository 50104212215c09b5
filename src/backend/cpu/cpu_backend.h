// The CPU behind the seam: a kernel table, a thread pool and scratch memory that only ever grows.
#pragma once

#include <algorithm>
#include <vector>

#include "backend/backend.h"
#include "base/buffer.h"
#include "base/thread_pool.h"

namespace colugo {

class CpuBackend : public Backend {
 public:
    CpuBackend(const kernels::KernelTable& table, ThreadPool& pool, ComputeMode mode);

    const kernels::KernelTable& table() const { return table_; }

    void embed(TensorView out, std::span<const int32_t> ids, const kernels::PackedWeight& table) override;
    void gather_rows(TensorView out, TensorView x, std::span<const int32_t> rows) override;
    void rms_norm(TensorView out, TensorView x, const float* weight, float eps) override;
    void round_to_storage(TensorView x) override;
    void linear(std::span<const LinearCall> calls, TensorView x) override;
    void silu_mul(TensorView out, TensorView gate, TensorView up) override;
    void rope_table(TensorView cos_sin, std::span<const AttentionSequence> sequences,
                    std::span<const float> inverse_frequencies) override;
    void attention_inputs(TensorView queries, TensorView keys, TensorView values, TensorView cos_sin,
                          const float* q_norm, const float* k_norm, float eps, const AttentionShape& shape,
                          std::span<const AttentionSequence> sequences) override;
    void attention_commit(const AttentionShape& shape, std::byte* const* pages, const DraftPath& path,
                          const float* keys, const float* values) override;
    void copy_kv(std::byte* to, const std::byte* from, int columns, const AttentionShape& shape) override;
    void attention(TensorView out, TensorView queries, const AttentionShape& shape,
                   std::span<const AttentionSequence> sequences) override;
    void gdn_convolution(TensorView out, TensorView inputs, const float* weight, const GdnShape& shape,
                         std::span<const GdnSequence> sequences) override;
    void gdn_inputs(TensorView mixed, TensorView b, TensorView a, const float* neg_exp_a_log, const float* dt_bias,
                    const GdnShape& shape) override;
    void gated_delta_net(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                         std::span<const GdnSequence> sequences) override;
    void gdn_commit(const GdnShape& shape, const GdnPageState* pages, const DraftPath& path, const GdnDrafts& kept,
                    float* window) override;
    void gated_rms_norm(TensorView x, TensorView gate, const float* weight, float eps, const GdnShape& shape) override;

 private:
    // Query rows of one sequence that attention handles together: `tokens` consecutive tokens, all heads of a group.
    struct AttentionTile {
        int sequence;
        int first_token;  // of the sequence's own rows and, behind them, its draft rows in the batch
        int tokens;
        int64_t last_position;
    };

    // Some value heads of one key head.
    struct GdnHeads {
        int key_head;
        int first = 0;
        int count = 0;
        // Takes the place of the page's keys, and behind them of the drafts'; null: these themselves.
        float* own_keys = nullptr;

        float* keys_of(const GdnPageState& page, const GdnShape& shape) const;
        float* keys_of(const GdnDrafts& drafts, const GdnShape& shape) const;
    };

    // body(row) for each row; on this thread alone when the whole is less work than waking the others.
    void for_rows(int64_t rows, int64_t floats_per_row, FunctionRef<void(int64_t row)> body);
    std::byte* scratch(int thread) const { return scratch_.data() + static_cast<size_t>(thread) * kScratchBytes; }
    // At least `bytes` of `buffer`, of which the first `keep` survive when it grows.
    static void grow(Buffer& buffer, size_t bytes, size_t keep = 0);
    size_t prepare_input(const kernels::PackedWeight& weight, size_t offset, TensorView x);
    void multiply_groups(const kernels::MatmulArgs& args, std::span<const int32_t> groups, int begin, int end,
                         std::byte* scratch) const;

    void plan_attention_tiles(const AttentionShape& shape, std::span<const AttentionSequence> sequences);
    void prepare_queries(TensorView queries, const AttentionShape& shape);
    void store_key_value(const AttentionShape& shape, std::byte* keys, std::byte* values, int64_t position,
                         const float* key, const float* value) const;
    void draw_draft_pages(const AttentionShape& shape, std::span<const AttentionSequence> sequences);
    void draw_draft_pages(const AttentionShape& shape, const AttentionSequence& sequence, int kv_head,
                          std::byte* images) const;
    void attend_segment(const AttentionTile& tile, int kv_head, int64_t segment, const AttentionShape& shape,
                        const AttentionSequence& sequence, const kernels::AttentionRows& part, std::byte* memory) const;
    void attend_pages(const AttentionTile& tile, int tokens, int kv_head, int64_t page, const AttentionShape& shape,
                      const AttentionSequence& sequence, const kernels::AttentionRows& part, std::byte* memory) const;
    void attend_draft_pages(const AttentionTile& tile, int first_token, int kv_head, int64_t page,
                            const AttentionShape& shape, const AttentionSequence& sequence,
                            const kernels::AttentionRows& part, std::byte* memory) const;
    void finish_attention(TensorView out, TensorView queries, const AttentionShape& shape, int64_t row, int kv_head,
                          const kernels::AttentionRows& total, int first) const;
    void gdn_rows(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                  int64_t first_row, int rows, const int32_t* slots, const uint64_t* visible, const GdnPageState& page,
                  const GdnDrafts* drafts, const GdnHeads& heads, std::byte* memory) const;
    static void gdn_move_row(const GdnShape& shape, const GdnPageState& page, const GdnDrafts& kept,
                             const GdnHeads& heads, int row, int64_t column);
    void gdn_advance_heads(const GdnShape& shape, const GdnPageState& page, const GdnHeads& heads,
                           std::byte* memory) const;
    void gdn_draft_rows(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                        const GdnSequence& sequence, const GdnHeads& heads, std::byte* memory) const;
    void gdn_heads(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                   const GdnSequence& sequence, const GdnHeads& heads, std::byte* memory) const;

    static constexpr size_t kScratchBytes =
        std::max({kernels::kMatmulScratchBytes, kernels::kAttentionScratchBytes, kernels::kGdnScratchBytes});

    const kernels::KernelTable& table_;
    ThreadPool& pool_;
    ComputeMode mode_;
    Buffer scratch_;      // [threads] x kScratchBytes
    Buffer activations_;  // prepared matmul inputs
    Buffer query_rows_;   // prepared queries, [kv head][row][head of the group]
    Buffer softmax_;      // running softmax of every tile: totals, then one part per task of a wave
    std::vector<AttentionTile> tiles_;
    // Of each draft row its own page as it would be: [sequence][kv head][row] a key tile and a value tile.
    Buffer images_;
    std::vector<std::byte*> sequence_images_;  // where each sequence's begin
    Buffer gdn_keys_;                          // of heads that do not write the page's: [task] a page's and the drafts'
};

}  // namespace colugo
