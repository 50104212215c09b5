// How often drafts turn out to be what is drawn, learned from those that were verified: by where they come from, how
// sure their source is, and how far they are from the last token. What is long ago counts less.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "spec/draft_tree.h"

namespace colugo {

class Acceptance {
 public:
    Acceptance();

    // Estimated for a draft, given that its parent is accepted.
    float share(const DraftEvidence& evidence, int depth) const;
    // Sets the probability of every node.
    void estimate(DraftTree& tree) const;
    // For what the MTP head finds likeliest at a depth, before it is asked: what it found there lately.
    float head_share(int depth) const;
    // The head was asked at a depth, and what it finds likeliest is accepted with this probability.
    void record_head(int depth, float share);

    // A tree was verified, and `path` of it accepted. drawn: a token was drawn behind the path, which is no child of
    // it.
    void record(const DraftTree& tree, std::span<const int32_t> path, bool drawn);

 private:
    struct Rate {
        float accepted = 0.0f;
        float seen = 0.0f;

        float value() const { return accepted / seen; }
        void record(float share);
    };
    static constexpr size_t kHeadClasses = 9, kLookupClasses = 5, kDepthClasses = 3;
    static constexpr size_t kHeadDepths = 16;

    static size_t cell(const DraftEvidence& evidence, int depth);

    std::array<Rate, kHeadClasses * kLookupClasses * kDepthClasses> rates_;
    std::array<Rate, kHeadDepths> head_;  // of the likeliest child
};

}  // namespace colugo
