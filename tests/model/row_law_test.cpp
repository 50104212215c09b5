// The row law: a token's logits are the same bits however its sequence was fed. And the tests of the tests: a backend
// with one deliberate fault must break that equality.
#include <gtest/gtest.h>

#include <cstring>

#include "model/faulty_backend.h"
#include "model/model_harness.h"

namespace colugo::testing {
namespace {

using kernels::KvType;
using kernels::Tier;

constexpr int kTokens = 132;  // four borders and a bit

// Index of the first value whose bits differ; the size when none does.
size_t first_difference(std::span<const float> a, std::span<const float> b) {
    if (a.size() != b.size()) return 0;
    for (size_t i = 0; i < a.size(); ++i) {
        if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) return i;
    }
    return a.size();
}

const std::vector<std::vector<int>> kSplits = {{1},  {2},  {3},  {31},        {32},           {33},
                                               {63}, {64}, {65}, {5, 27, 64}, {1, 30, 2, 40}, {40, 1, 1, 1, 90}};

std::vector<Launch> launches() {
    std::vector<Launch> all;
    for (Tier tier : available_tiers()) {
        for (ComputeMode compute : {ComputeMode::bf16, ComputeMode::f32}) {
            for (KvType kv_type : {KvType::f32, KvType::bf16, KvType::fp8, KvType::int8}) {
                all.push_back({.tier = tier, .compute = compute, .kv_type = kv_type});
            }
        }
    }
    return all;
}

// Every third split on the reference tier, which has no speed.
std::vector<std::vector<int>> splits_for(Tier tier) {
    if (tier != Tier::scalar) return kSplits;
    return {{1}, {32}, {65}, {1, 30, 2, 40}};
}

class RowLaw : public ::testing::TestWithParam<Launch> {};

TEST_P(RowLaw, HoldsForEverySplitOfThePrompt) {
    for (const char* fixture : {"tiny-bf16", "tiny-nvfp4-w4a4"}) {
        ModelHarness harness(load_fixture(fixture, GetParam().compute), GetParam());
        const std::vector<int32_t> tokens = test_tokens(kTokens, harness.config().vocab_size);
        const std::vector<float> whole = harness.logits(tokens, {kTokens});
        EXPECT_EQ(harness.passes(), 1);
        for (const std::vector<int>& split : splits_for(GetParam().tier)) {
            const std::vector<float> parts = harness.logits(tokens, split);
            const size_t at = first_difference(whole, parts);
            EXPECT_EQ(at, whole.size()) << fixture << " split " << ::testing::PrintToString(split) << " differs at row "
                                        << at / static_cast<size_t>(harness.config().vocab_size);
        }
        EXPECT_GT(harness.passes(), 130);
    }
}

// What the next pass reads: recurrent and convolution states, the pending hidden, keys and values, the MTP head's too.
std::vector<std::byte> state_bytes(const ModelHarness& harness, const TestSequence& sequence) {
    // Border, rows and tail lie one behind the other.
    std::vector<std::byte> bytes(sequence.border, sequence.border + sequence.buffers.bytes());
    for (const std::byte* page : sequence.pages) {
        bytes.insert(bytes.end(), page, page + harness.page_bytes());
    }
    return bytes;
}

TEST_P(RowLaw, HoldsForTheStateAndTheDraftHead) {
    ModelHarness harness(load_fixture("tiny-bf16", GetParam().compute), GetParam());
    ASSERT_TRUE(harness.model().has_mtp());
    constexpr int kDepth = 3;
    const std::vector<int32_t> tokens = test_tokens(kTokens, harness.config().vocab_size);
    const std::vector<int32_t> drafted = test_tokens(kDepth, harness.config().vocab_size, 7);
    // Another sequence beside it, of another length.
    const auto other = harness.feed(std::span(tokens).subspan(9), {50}, kDepth);
    const auto whole = harness.feed(tokens, {kTokens}, kDepth);
    const std::vector<std::byte> state = state_bytes(harness, *whole);
    TestSequence* alone[] = {whole.get()};
    const std::vector<float> drafts = harness.draft(alone, drafted, kDepth);
    const size_t vocab = drafts.size() / kDepth;
    for (const std::vector<int>& split : splits_for(GetParam().tier)) {
        const auto parts = harness.feed(tokens, split, kDepth);
        EXPECT_TRUE(state_bytes(harness, *parts) == state) << ::testing::PrintToString(split);
        TestSequence* both[] = {other.get(), parts.get()};
        const std::vector<float> together = harness.draft(both, drafted, kDepth);
        for (size_t step = 0; step < kDepth; ++step) {
            const auto mine = std::span(together).subspan((2 * step + 1) * vocab, vocab);
            EXPECT_EQ(first_difference(std::span(drafts).subspan(step * vocab, vocab), mine), vocab) << step;
        }
    }
}

// The draft head along a tree, level by level, across a border: each row is that of a chain along its path.
TEST_P(RowLaw, HoldsForTreesOfTheDraftHead) {
    ModelHarness harness(load_fixture("tiny-bf16", GetParam().compute), GetParam());
    const auto vocab = static_cast<size_t>(harness.config().vocab_size);
    const auto hidden_size = static_cast<size_t>(harness.config().hidden_size);
    const std::vector<int32_t> tokens = {9, 50, 51, 60, 61, 62, 70, 71};
    const std::vector<int32_t> parents = {-1, 0, 0, 1, 2, 2, 3, 5};
    const std::vector<size_t> levels = {0, 1, 3, 6, 8};
    for (const int length : {29, 31, 32, 40}) {
        const auto sequence = harness.feed(test_tokens(length, harness.config().vocab_size), {length}, 8);
        std::vector<std::vector<float>> hidden(tokens.size(), std::vector<float>(hidden_size)), logits;
        for (size_t level = 0; level + 1 < levels.size(); ++level) {
            const size_t first = levels[level], count = levels[level + 1] - first;
            std::vector<const float*> before;
            for (size_t row = first; row < first + count; ++row) {
                const int32_t parent = parents[row];
                before.push_back(parent < 0 ? harness.pending_hidden(*sequence)
                                            : hidden[static_cast<size_t>(parent)].data());
            }
            std::vector<float> next(count * hidden_size), out(count * vocab);
            const MtpTree tree[] = {{sequence.get(), std::span(tokens).first(first + count),
                                     std::span(parents).first(first + count), first, before}};
            harness.model().mtp_draft(
                tree, TensorView(next.data(), static_cast<int64_t>(count), harness.config().hidden_size),
                TensorView(out.data(), static_cast<int64_t>(count), harness.config().vocab_size));
            for (size_t row = 0; row < count; ++row) {
                std::copy_n(next.data() + row * hidden_size, hidden_size, hidden[first + row].data());
                logits.emplace_back(out.begin() + static_cast<std::ptrdiff_t>(row * vocab),
                                    out.begin() + static_cast<std::ptrdiff_t>((row + 1) * vocab));
            }
        }
        TestSequence* alone[] = {sequence.get()};
        for (size_t row = 0; row < tokens.size(); ++row) {
            std::vector<int32_t> path;
            for (auto at = static_cast<int32_t>(row); at >= 0; at = parents[static_cast<size_t>(at)]) {
                path.insert(path.begin(), tokens[static_cast<size_t>(at)]);
            }
            const std::vector<float> chain = harness.draft(alone, path, static_cast<int>(path.size()));
            EXPECT_EQ(first_difference(std::span(chain).last(vocab), logits[row]), vocab)
                << row << " behind " << length;
        }
    }
}

TEST_P(RowLaw, HoldsForEveryThreadCount) {
    Launch launch = GetParam();
    const LoadedFixture& fixture = load_fixture("tiny-bf16", launch.compute);
    const std::vector<int32_t> tokens = test_tokens(kTokens, fixture.config.vocab_size);
    const std::vector<float> alone = ModelHarness(fixture, launch).logits(tokens, {50});
    for (int threads = 2; threads <= 4; ++threads) {
        launch.threads = threads;
        EXPECT_EQ(first_difference(alone, ModelHarness(fixture, launch).logits(tokens, {50})), alone.size())
            << launch_name(launch);
    }
}

// Batches of 1 to 17 rows cut from several sequences at once, at different positions of their pages.
TEST_P(RowLaw, HoldsInMixedBatches) {
    const Launch launch = GetParam();
    ModelHarness harness(load_fixture("tiny-bf16", launch.compute), launch);
    const auto vocab = static_cast<size_t>(harness.config().vocab_size);
    constexpr int kSequences = 5;
    std::vector<std::vector<int32_t>> tokens;
    std::vector<std::vector<float>> alone;
    std::vector<std::unique_ptr<TestSequence>> states;
    for (int i = 0; i < kSequences; ++i) {
        tokens.push_back(test_tokens(40 + 9 * i, harness.config().vocab_size, static_cast<uint64_t>(7 + i)));
        alone.push_back(harness.logits(tokens.back(), {100}));
        states.push_back(harness.sequence(100));
    }
    std::vector<std::vector<float>> mixed(kSequences);
    std::vector<bool> batch_sizes(18);
    uint64_t random = 5;
    for (bool left = true; left;) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int rows = 1 + static_cast<int>((random >> 40) % 17);
        std::vector<SequenceRows> batch;
        std::vector<int> members;
        int used = 0;
        left = false;
        for (int i = 0; i < kSequences; ++i) {
            const int s = (i + static_cast<int>(random >> 60)) % kSequences;
            const auto done = static_cast<size_t>(states[static_cast<size_t>(s)]->length);
            const auto rest = std::span<const int32_t>(tokens[static_cast<size_t>(s)]).subspan(done);
            left = left || !rest.empty();
            const size_t take = std::min(
                {rest.size(), static_cast<size_t>(rows - used), 1 + static_cast<size_t>(random >> (8 * i)) % 7});
            if (take == 0) continue;
            batch.push_back({states[static_cast<size_t>(s)].get(), rest.first(take)});
            members.push_back(s);
            used += static_cast<int>(take);
        }
        if (batch.empty()) continue;
        batch_sizes[static_cast<size_t>(used)] = true;
        const std::vector<float> out = harness.pass(batch);
        size_t row = 0;
        for (size_t i = 0; i < batch.size(); ++i) {
            const size_t count = batch[i].tokens.size();
            auto& kept = mixed[static_cast<size_t>(members[i])];
            kept.insert(kept.end(), out.begin() + static_cast<std::ptrdiff_t>(row * vocab),
                        out.begin() + static_cast<std::ptrdiff_t>((row + count) * vocab));
            row += count;
        }
    }
    for (size_t i = 0; i < kSequences; ++i) {
        EXPECT_EQ(first_difference(alone[i], mixed[i]), alone[i].size()) << "sequence " << i;
    }
    EXPECT_GT(std::count(batch_sizes.begin(), batch_sizes.end(), true), 8) << "batches were not mixed";
}

INSTANTIATE_TEST_SUITE_P(Launches, RowLaw, ::testing::ValuesIn(launches()),
                         [](const ::testing::TestParamInfo<Launch>& launch) {
                             std::string name = launch_name(launch.param);
                             std::replace(name.begin(), name.end(), ' ', '_');
                             return name;
                         });

// Across the attention segments of 1024 positions, where parts are folded and threads share one row's context.
TEST(RowLawLong, HoldsAcrossAttentionSegments) {
    Launch launch{.tier = kernels::select_tier()};
    const LoadedFixture& fixture = load_fixture("tiny-bf16", launch.compute);
    const std::vector<int32_t> tokens = test_tokens(2100, fixture.config.vocab_size);
    const std::vector<float> whole =
        ModelHarness(fixture, {.tier = launch.tier, .max_rows = 2100}).logits(tokens, {2100});
    const std::vector<float> parts = ModelHarness(fixture, launch).logits(tokens, {1000, 20, 1, 1, 1, 1, 1, 300});
    EXPECT_EQ(first_difference(whole, parts), whole.size());
    launch.threads = 3;
    const std::vector<float> shared = ModelHarness(fixture, launch).logits(tokens, {1023, 1, 1, 1020, 1});
    EXPECT_EQ(first_difference(whole, shared), whole.size());
}

class Fault : public ::testing::TestWithParam<FaultKind> {};

TEST_P(Fault, IsSeen) {
    const Launch launch{.tier = kernels::select_tier(), .kv_type = faulty_kv_type(GetParam())};
    const LoadedFixture& fixture = load_fixture("tiny-bf16", launch.compute);
    const std::vector<int32_t> tokens = test_tokens(kTokens, fixture.config.vocab_size);
    ModelHarness harness(fixture, launch, faulty_backend_factory(GetParam()));
    const std::vector<float> whole = harness.logits(tokens, {kTokens});
    bool seen = false;
    for (const std::vector<int>& split : kSplits) {
        seen = seen || first_difference(whole, harness.logits(tokens, split)) != whole.size();
    }
    EXPECT_TRUE(seen) << "the row law holds in spite of the fault: " << fault_name(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Faults, Fault,
                         ::testing::Values(FaultKind::conv_input_not_rounded, FaultKind::key_rounded_late,
                                           FaultKind::pending_row_dropped, FaultKind::split_reduction),
                         [](const ::testing::TestParamInfo<FaultKind>& fault) { return fault_name(fault.param); });

}  // namespace
}  // namespace colugo::testing
