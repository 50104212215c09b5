// Replies that drafts were accepted and rejected for follow the model's own probabilities, over many seeds.
#include <cmath>
#include <numeric>

#include "engine/spec_harness.h"
#include "support/chi_square.h"

namespace colugo::testing {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int kLength = 4;    // of a reply
constexpr size_t kTopK = 2;   // tokens that may be drawn at a position
constexpr int kReplies = 16;  // kTopK^kLength
constexpr int kSeeds = 1500;

Request request_for(const Tokens& prompt, uint64_t seed) {
    Request request = request_of(prompt, kLength, 1.0);
    request.sampling.top_k = static_cast<int32_t>(kTopK);
    request.sampling.seed = seed;
    return request;
}

// All replies there can be, with their probabilities at a temperature, the likelier token of each position first.
struct Replies {
    std::vector<Tokens> tokens;
    std::vector<double> probabilities;
};
Replies replies_to(const Tokens& prompt, double temperature) {
    ColdRuns plain;
    Replies known{{{}}, {1.0}};
    for (int position = 0; position < kLength; ++position) {
        Replies next;
        for (size_t i = 0; i < known.tokens.size(); ++i) {
            const Recorder& heard = plain.of(request_of(joined(prompt, known.tokens[i]), 0));
            const float* logits = heard.logits().data() + heard.logits().size() - plain.vocab_size();
            std::vector<int32_t> order(static_cast<size_t>(plain.vocab_size()));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
            double total = 0.0;
            for (size_t k = 0; k < kTopK; ++k) total += std::exp((logits[order[k]] - logits[order[0]]) / temperature);
            for (size_t k = 0; k < kTopK; ++k) {
                next.tokens.push_back(joined(known.tokens[i], {order[k]}));
                next.probabilities.push_back(known.probabilities[i] *
                                             std::exp((logits[order[k]] - logits[order[0]]) / temperature) / total);
            }
        }
        known = std::move(next);
    }
    return known;
}

TEST(SpecDistribution, IsThatOfDirectSampling) {
    const Tokens prompt = tokens_of(12, 5);
    const Replies replies = replies_to(prompt, 1.0);
    ASSERT_EQ(replies.tokens.size(), static_cast<size_t>(kReplies));
    EngineHarness harness({.with_mtp = true, .spec = {.mode = SpecMode::tree}});
    // Behind each of the first tokens the likeliest of what follows.
    Tokens prediction;
    for (const size_t reply : {size_t{0}, size_t{kReplies / 2}}) {
        prediction = joined(joined(prediction, {prompt.back()}), replies.tokens[reply]);
    }
    std::vector<int> drafting(kReplies, 0), direct(kReplies, 0);
    DraftTally tally;
    int passes = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        for (const bool drafts : {true, false}) {
            Request request = request_for(prompt, seed);
            request.prediction = prediction;
            if (!drafts) request.spec = SpecParams{};
            const auto heard = harness.run(request);
            const auto at = std::find(replies.tokens.begin(), replies.tokens.end(), heard->tokens());
            ASSERT_NE(at, replies.tokens.end());
            ++(drafts ? drafting : direct)[static_cast<size_t>(at - replies.tokens.begin())];
            tally.add(heard->result());
            passes += drafts ? static_cast<int>(heard->result().decode_passes) : 0;
        }
    }
    EXPECT_EQ(drafting, direct);
    EXPECT_GT(tally.accepted, kSeeds / 4);
    EXPECT_GT(tally.rejected(), kSeeds);
    EXPECT_LT(passes, kSeeds * (kLength - 1));
    int degrees = 0;
    EXPECT_LT(chi_square(drafting, replies.probabilities, &degrees), chi_square_limit(kReplies - 1));
    EXPECT_EQ(degrees, kReplies - 1);
    // The test can fail.
    EXPECT_GT(chi_square(drafting, replies_to(prompt, 0.7).probabilities, &degrees), chi_square_limit(degrees));
}

}  // namespace
}  // namespace colugo::testing
