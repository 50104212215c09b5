#include "model/model_harness.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <numeric>

namespace colugo::testing {

namespace {

LoadedFixture read_fixture(const std::string& name, ComputeMode mode) {
    const std::string directory = std::string(COLUGO_FIXTURES_DIR) + "/" + name;
    const CheckpointFiles files(directory);
    ThreadPool threads(2);
    LoadedFixture fixture;
    fixture.config = read_model_config(directory);
    LoadedWeights loaded = load_weights(files, fixture.config, read_quantization_config(directory),
                                        {.compute = mode, .with_mtp = true, .progress = {}}, threads);
    fixture.weights = std::move(loaded.weights);
    return fixture;
}

}  // namespace

const LoadedFixture& load_fixture(std::string_view name, ComputeMode mode) {
    static std::map<std::pair<std::string, ComputeMode>, std::unique_ptr<LoadedFixture>> loaded;
    std::unique_ptr<LoadedFixture>& slot = loaded[{std::string(name), mode}];
    if (!slot) slot = std::make_unique<LoadedFixture>(read_fixture(std::string(name), mode));
    return *slot;
}

std::string launch_name(const Launch& launch) {
    static const char* const kKvNames[] = {"f32", "bf16", "fp8", "int8"};
    return fmt::format("{} compute {} kv {} threads {}", kernels::tier_name(launch.tier),
                       launch.compute == ComputeMode::f32 ? "f32" : "bf16", kKvNames[static_cast<int>(launch.kv_type)],
                       launch.threads);
}

std::vector<kernels::Tier> available_tiers() {
    using kernels::Tier;
    std::vector<Tier> tiers;
    for (Tier tier : {Tier::scalar, Tier::avx2, Tier::avx512, Tier::avx512_bf16, Tier::amx}) {
        if (kernels::tier_available(tier)) tiers.push_back(tier);
    }
    return tiers;
}

std::vector<int32_t> test_tokens(int count, int64_t vocab_size, uint64_t seed) {
    std::vector<int32_t> tokens;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < count; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        tokens.push_back(static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocab_size)));
    }
    return tokens;
}

std::unique_ptr<CpuBackend> ModelHarness::plain_backend(const kernels::KernelTable& table, ThreadPool& pool,
                                                        ComputeMode mode) {
    return std::make_unique<CpuBackend>(table, pool, mode);
}

ModelHarness::ModelHarness(const LoadedFixture& fixture, const Launch& launch, BackendFactory factory)
    : fixture_(fixture), pool_(launch.threads) {
    backend_ = factory(kernels::kernel_table(launch.tier), pool_, launch.compute);
    model_ = std::make_unique<Qwen35>(fixture.config, fixture.weights, *backend_,
                                      ModelOptions{.kv_type = launch.kv_type,
                                                   .max_rows = launch.max_rows,
                                                   .max_draft_rows = launch.max_draft_rows,
                                                   .max_draft_sequences = 5});
    pages_ = std::make_unique<SlotPool>(budget_, static_cast<size_t>(page_bytes()));
}

std::unique_ptr<TestSequence> ModelHarness::sequence(int64_t positions) {
    auto state = std::make_unique<TestSequence>(model_->recurrent_layout());
    while (state->page_capacity() < positions) {
        state->slots.push_back(pages_->grant());
        state->pages.push_back(state->slots.back().data());
        std::memset(state->pages.back(), 0, static_cast<size_t>(page_bytes()));
    }
    return state;
}

std::vector<float> ModelHarness::pass(std::span<const SequenceRows> batch) {
    model_->forward(batch);
    ++passes_;
    size_t count = 0;
    for (const SequenceRows& rows : batch) count += rows.tokens.size() + rows.drafts.size();
    std::vector<int32_t> rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    const auto vocab = static_cast<size_t>(fixture_.config.vocab_size);
    std::vector<float> out(count * vocab);
    model_->logits(TensorView(out.data(), static_cast<int64_t>(count), static_cast<int64_t>(vocab)), rows);
    return out;
}

std::unique_ptr<TestSequence> ModelHarness::feed(std::span<const int32_t> tokens, const std::vector<int>& chunks,
                                                 int more, std::vector<float>* logits) {
    auto state = sequence(static_cast<int64_t>(tokens.size()) + more);
    size_t chunk = 0;
    while (!tokens.empty()) {
        const size_t size = std::min(tokens.size(), static_cast<size_t>(chunks[std::min(chunk, chunks.size() - 1)]));
        const SequenceRows rows[] = {{state.get(), tokens.first(size)}};
        const std::vector<float> out = pass(rows);
        if (logits != nullptr) logits->insert(logits->end(), out.begin(), out.end());
        tokens = tokens.subspan(size);
        ++chunk;
    }
    return state;
}

std::vector<float> ModelHarness::logits(std::span<const int32_t> tokens, const std::vector<int>& chunks) {
    std::vector<float> all;
    feed(tokens, chunks, 0, &all);
    return all;
}

std::vector<float> ModelHarness::draft(std::span<TestSequence* const> sequences, std::span<const int32_t> tokens,
                                       int depth) {
    const auto count = static_cast<int64_t>(sequences.size());
    const auto hidden_size = static_cast<size_t>(config().hidden_size);
    std::vector<float> hidden, next(sequences.size() * hidden_size), all;
    for (const SequenceState* sequence : sequences) {
        hidden.insert(hidden.end(), pending_hidden(*sequence), pending_hidden(*sequence) + hidden_size);
    }
    std::vector<float> logits(sequences.size() * static_cast<size_t>(config().vocab_size));
    std::vector<int32_t> parents;
    for (size_t step = 0; step < static_cast<size_t>(depth); ++step) {
        parents.push_back(static_cast<int32_t>(step) - 1);
        std::vector<const float*> before(sequences.size());
        std::vector<MtpTree> trees;
        for (size_t i = 0; i < sequences.size(); ++i) {
            before[i] = hidden.data() + i * hidden_size;
            trees.push_back({sequences[i], tokens.first(step + 1), parents, step, std::span(before).subspan(i, 1)});
        }
        model_->mtp_draft(trees, TensorView(next.data(), count, config().hidden_size),
                          TensorView(logits.data(), count, config().vocab_size));
        all.insert(all.end(), logits.begin(), logits.end());
        hidden.swap(next);
    }
    return all;
}

}  // namespace colugo::testing
