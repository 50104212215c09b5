// A model over a fixture checkpoint, fed in any way a test likes, with every logit kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "cache/slot_pool.h"
#include "checkpoint/weights.h"
#include "model/qwen35.h"

namespace colugo::testing {

// A fixture's configuration and weights, loaded once for each compute mode.
struct LoadedFixture {
    ModelConfig config;
    ModelWeights weights;
};
const LoadedFixture& load_fixture(std::string_view name, ComputeMode mode);

// How a launch computes.
struct Launch {
    kernels::Tier tier = kernels::Tier::scalar;
    ComputeMode compute = ComputeMode::bf16;
    kernels::KvType kv_type = kernels::KvType::bf16;
    int threads = 1;
    int max_rows = 2048;
    int max_draft_rows = 128;
};
std::string launch_name(const Launch& launch);
std::vector<kernels::Tier> available_tiers();

// Token ids that differ, from a fixed stream: [0, vocab_size).
std::vector<int32_t> test_tokens(int count, int64_t vocab_size, uint64_t seed = 1);

// A sequence with its own memory.
struct TestSequence : SequenceState {
    explicit TestSequence(const RecurrentLayout& layout) : buffers(layout) {
        static_cast<SequenceState&>(*this) = buffers.start();
    }
    SequenceBuffers buffers;
    std::vector<SlotRef> slots;  // of its pages
};

class ModelHarness {
 public:
    using BackendFactory = std::unique_ptr<CpuBackend> (*)(const kernels::KernelTable&, ThreadPool&, ComputeMode);
    static std::unique_ptr<CpuBackend> plain_backend(const kernels::KernelTable& table, ThreadPool& pool,
                                                     ComputeMode mode);

    ModelHarness(const LoadedFixture& fixture, const Launch& launch, BackendFactory factory = plain_backend);

    Qwen35& model() { return *model_; }
    const ModelConfig& config() const { return fixture_.config; }
    int64_t page_bytes() const { return model_->page_layout().page_bytes; }

    // A new sequence with room for `positions`.
    std::unique_ptr<TestSequence> sequence(int64_t positions);

    // One pass; the logits of every row: [rows, vocab_size].
    std::vector<float> pass(std::span<const SequenceRows> batch);
    // A fresh sequence fed in the given chunks, the last size repeated until all tokens are in: [tokens, vocab_size].
    std::vector<float> logits(std::span<const int32_t> tokens, const std::vector<int>& chunks);
    // The same without its logits: the sequence, with room for `more` positions behind the tokens.
    std::unique_ptr<TestSequence> feed(std::span<const int32_t> tokens, const std::vector<int>& chunks, int more,
                                       std::vector<float>* logits = nullptr);
    // MTP steps of several sequences at once, `depth` deep, the tokens given: [depth][sequences, vocab_size].
    std::vector<float> draft(std::span<TestSequence* const> sequences, std::span<const int32_t> tokens, int depth);
    const float* pending_hidden(const SequenceState& sequence) const {
        return model_->recurrent_layout().pending_hidden(sequence.tail);
    }
    int passes() const { return passes_; }

 private:
    const LoadedFixture& fixture_;
    ThreadPool pool_;
    std::unique_ptr<CpuBackend> backend_;
    std::unique_ptr<Qwen35> model_;
    MemoryBudget budget_{uint64_t{1} << 30};
    std::unique_ptr<SlotPool> pages_;
    int passes_ = 0;
};

}  // namespace colugo::testing
