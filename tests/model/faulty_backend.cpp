#include "model/faulty_backend.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace colugo::testing {

namespace {

using kernels::kPage;

class ConvInputNotRounded : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    void gdn_convolution(TensorView out, TensorView inputs, const float* weight, const GdnShape& shape,
                         std::span<const GdnSequence> sequences) override {
        const int width = shape.conv_width();
        for (const GdnSequence& sequence : sequences) {
            for (int token = 0; token < sequence.rows; ++token) {
                const float* taps[8];
                for (int tap = 0; tap < shape.conv_taps; ++tap) {
                    const int source = token - (shape.conv_taps - 1) + tap;
                    taps[tap] = source >= 0 ? inputs.f32(sequence.first_row + source)
                                            : sequence.window + (shape.conv_taps - 1 + source) * width;
                }
                table().conv_silu(out.f32(sequence.first_row + token), taps, weight, shape.conv_taps, width);
            }
        }
        std::vector<float> discarded(static_cast<size_t>(inputs.rows * width));
        CpuBackend::gdn_convolution(TensorView(discarded.data(), inputs.rows, width), inputs, weight, shape, sequences);
    }
};

class KeyRoundedLate : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    // The first call of a pass: what the last pass stored is rounded now.
    void embed(TensorView out, std::span<const int32_t> ids, const kernels::PackedWeight& table_weight) override {
        for (const auto& [tile, floats] : stored_) table().round_bf16(tile, floats);
        stored_.clear();
        CpuBackend::embed(out, ids, table_weight);
    }
    void attention_inputs(TensorView queries, TensorView keys, TensorView values, TensorView cos_sin,
                          const float* q_norm, const float* k_norm, float eps, const AttentionShape& shape,
                          std::span<const AttentionSequence> sequences) override {
        CpuBackend::attention_inputs(queries, keys, values, cos_sin, q_norm, k_norm, eps, shape, sequences);
        const int floats = shape.num_kv_heads * shape.head_dim * kPage;
        for (const AttentionSequence& sequence : sequences) {
            for (int row = 0; row < sequence.rows; ++row) {
                std::byte* page = sequence.pages[(sequence.position + row) / kPage];
                stored_.emplace_back(reinterpret_cast<float*>(page + shape.slice.key_offset), floats);
                stored_.emplace_back(reinterpret_cast<float*>(page + shape.slice.value_offset), floats);
            }
        }
    }

 private:
    std::vector<std::pair<float*, int>> stored_;
};

class PendingRowDropped : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    void gated_delta_net(TensorView out, TensorView mixed, TensorView beta, TensorView g, const GdnShape& shape,
                         std::span<const GdnSequence> sequences) override {
        CpuBackend::gated_delta_net(out, mixed, beta, g, shape, sequences);
        for (const GdnSequence& sequence : sequences) {
            const int64_t last = sequence.position + sequence.rows - 1;
            if (sequence.rows == 0 || last % kPage == kPage - 1) continue;
            for (int head = 0; head < shape.num_value_heads; ++head) {
                const int64_t pages_before = last / kPage - sequence.position / kPage;
                std::memset(sequence.pages[pages_before].deltas + (head * kPage + last % kPage) * shape.value_dim, 0,
                            static_cast<size_t>(shape.value_dim) * sizeof(float));
            }
        }
    }
};

class SplitReduction : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    void rms_norm(TensorView out, TensorView x, const float* weight, float eps) override {
        if (x.rows == 1) return CpuBackend::rms_norm(out, x, weight, eps);
        for (int64_t row = 0; row < x.rows; ++row) {
            const float* in = x.f32(row);
            float halves[2] = {};
            for (int64_t i = 0; i < x.cols; ++i) halves[2 * i / x.cols] += in[i] * in[i];
            const float scale = 1.0f / std::sqrt((halves[0] + halves[1]) / static_cast<float>(x.cols) + eps);
            for (int64_t i = 0; i < x.cols; ++i) out.f32(row)[i] = in[i] * scale * (1.0f + weight[i]);
        }
    }
};

// The window of the running sequence is kept, that of a snapshot is not.
class SnapshotWindowSkipped : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    void gdn_convolution(TensorView out, TensorView inputs, const float* weight, const GdnShape& shape,
                         std::span<const GdnSequence> sequences) override {
        std::vector<GdnSequence> without(sequences.begin(), sequences.end());
        for (GdnSequence& sequence : without) sequence.windows = sequence.windows.last(1);
        CpuBackend::gdn_convolution(out, inputs, weight, shape, without);
    }
};

class PageNotCopied : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    void copy_kv(std::byte*, const std::byte*, int, const AttentionShape&) override {}
};

// Trees whose drafts each have the one before for a parent.
class Chains {
 public:
    void unbranch(DraftRows& drafts) {
        std::vector<int32_t>& chain = chains_.emplace_back(static_cast<size_t>(drafts.rows));
        std::iota(chain.begin(), chain.end(), -1);
        drafts.parents = chain.data();
    }

 private:
    std::vector<std::vector<int32_t>> chains_;
};

class SiblingConvolved : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    void gdn_convolution(TensorView out, TensorView inputs, const float* weight, const GdnShape& shape,
                         std::span<const GdnSequence> sequences) override {
        Chains chains;
        std::vector<GdnSequence> without(sequences.begin(), sequences.end());
        for (GdnSequence& sequence : without) chains.unbranch(sequence.drafts);
        CpuBackend::gdn_convolution(out, inputs, weight, shape, without);
    }
};

class SiblingAttended : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    void attention(TensorView out, TensorView queries, const AttentionShape& shape,
                   std::span<const AttentionSequence> sequences) override {
        Chains chains;
        std::vector<AttentionSequence> without(sequences.begin(), sequences.end());
        for (AttentionSequence& sequence : without) chains.unbranch(sequence.drafts);
        CpuBackend::attention(out, queries, shape, without);
    }
};

std::vector<int32_t> first_rows(const DraftPath& path) {
    std::vector<int32_t> rows(path.rows.size());
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

class RejectedKeyKept : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    void attention_commit(const AttentionShape& shape, std::byte* const* pages, const DraftPath& path,
                          const float* keys, const float* values) override {
        CpuBackend::attention_commit(shape, pages, {first_rows(path), path.position}, keys, values);
    }
};

class RejectedRowKept : public CpuBackend {
 public:
    using CpuBackend::CpuBackend;
    void gdn_commit(const GdnShape& shape, const GdnPageState* pages, const DraftPath& path, const GdnDrafts& kept,
                    float* window) override {
        CpuBackend::gdn_commit(shape, pages, {first_rows(path), path.position}, kept, window);
    }
};

template <class Faulty>
std::unique_ptr<CpuBackend> make(const kernels::KernelTable& table, ThreadPool& pool, ComputeMode mode) {
    return std::make_unique<Faulty>(table, pool, mode);
}

}  // namespace

std::string fault_name(FaultKind fault) {
    switch (fault) {
        case FaultKind::conv_input_not_rounded:
            return "conv_input_not_rounded";
        case FaultKind::key_rounded_late:
            return "key_rounded_late";
        case FaultKind::pending_row_dropped:
            return "pending_row_dropped";
        case FaultKind::split_reduction:
            return "split_reduction";
        case FaultKind::snapshot_window_skipped:
            return "snapshot_window_skipped";
        case FaultKind::page_not_copied:
            return "page_not_copied";
        case FaultKind::sibling_convolved:
            return "sibling_convolved";
        case FaultKind::sibling_attended:
            return "sibling_attended";
        case FaultKind::rejected_key_kept:
            return "rejected_key_kept";
        case FaultKind::rejected_row_kept:
            return "rejected_row_kept";
    }
    return "";
}

kernels::KvType faulty_kv_type(FaultKind fault) {
    return fault == FaultKind::key_rounded_late ? kernels::KvType::f32 : kernels::KvType::bf16;
}

ModelHarness::BackendFactory faulty_backend_factory(FaultKind fault) {
    switch (fault) {
        case FaultKind::conv_input_not_rounded:
            return make<ConvInputNotRounded>;
        case FaultKind::key_rounded_late:
            return make<KeyRoundedLate>;
        case FaultKind::pending_row_dropped:
            return make<PendingRowDropped>;
        case FaultKind::split_reduction:
            return make<SplitReduction>;
        case FaultKind::snapshot_window_skipped:
            return make<SnapshotWindowSkipped>;
        case FaultKind::page_not_copied:
            return make<PageNotCopied>;
        case FaultKind::sibling_convolved:
            return make<SiblingConvolved>;
        case FaultKind::sibling_attended:
            return make<SiblingAttended>;
        case FaultKind::rejected_key_kept:
            return make<RejectedKeyKept>;
        case FaultKind::rejected_row_kept:
            return make<RejectedRowKept>;
    }
    return nullptr;
}

}  // namespace colugo::testing
