#include "spec/acceptance.h"

#include <algorithm>

namespace colugo {

namespace {

// Drafts that what is assumed before any is seen counts for, and levels of the head.
constexpr float kPriorSeen = 4.0f, kPriorLevels = 2.0f;
constexpr float kMostSeen = 256.0f;  // beyond which the past fades
// The head's probabilities that one class ends at.
constexpr float kHeadEnds[] = {0.02f, 0.1f, 0.3f, 0.5f, 0.7f, 0.85f, 0.95f};
// The same of tokens that agreed.
constexpr int kLookupEnds[] = {3, 5, 8};

size_t head_class(float probability) {
    if (probability <= 0.0f) return 0;
    return 1 + static_cast<size_t>(std::upper_bound(std::begin(kHeadEnds), std::end(kHeadEnds), probability) -
                                   std::begin(kHeadEnds));
}

size_t lookup_class(int agreed) {
    if (agreed <= 0) return 0;
    return 1 + static_cast<size_t>(std::upper_bound(std::begin(kLookupEnds), std::end(kLookupEnds), agreed) -
                                   std::begin(kLookupEnds));
}

size_t depth_class(int depth) {
    return depth <= 1 ? 0 : (depth <= 3 ? 1 : 2);
}

// Before anything is seen: the head as sure as it says in the middle of a class, lookups by what agreed, and both wrong
// independently of each other.
float assumed(size_t head, size_t lookup) {
    constexpr float kHead[] = {0.0f, 0.01f, 0.05f, 0.2f, 0.4f, 0.6f, 0.77f, 0.9f, 0.97f};
    constexpr float kLookup[] = {0.0f, 0.5f, 0.6f, 0.7f, 0.85f};
    return 1.0f - (1.0f - kHead[head]) * (1.0f - kLookup[lookup]);
}

}  // namespace

void Acceptance::Rate::record(float share) {
    if (seen >= kMostSeen) {
        seen *= 0.5f;
        accepted *= 0.5f;
    }
    seen += 1.0f;
    accepted += share;
}

Acceptance::Acceptance() {
    for (size_t head = 0; head < kHeadClasses; ++head) {
        for (size_t lookup = 0; lookup < kLookupClasses; ++lookup) {
            for (size_t depth = 0; depth < kDepthClasses; ++depth) {
                rates_[(head * kLookupClasses + lookup) * kDepthClasses + depth] = {kPriorSeen * assumed(head, lookup),
                                                                                    kPriorSeen};
            }
        }
    }
    head_.fill({kPriorLevels * 0.7f, kPriorLevels});
}

size_t Acceptance::cell(const DraftEvidence& evidence, int depth) {
    const size_t sources = head_class(evidence.head) * kLookupClasses + lookup_class(evidence.agreed);
    return sources * kDepthClasses + depth_class(depth);
}

float Acceptance::share(const DraftEvidence& evidence, int depth) const {
    return rates_[cell(evidence, depth)].value();
}

void Acceptance::estimate(DraftTree& tree) const {
    for (int32_t index = 0; index < static_cast<int32_t>(tree.nodes().size()); ++index) {
        const DraftNode& node = tree.node(index);
        tree.set_share(index, share(node.evidence, node.depth));
    }
}

float Acceptance::head_share(int depth) const {
    return head_[std::min(static_cast<size_t>(depth), kHeadDepths) - 1].value();
}

void Acceptance::record_head(int depth, float share) {
    head_[std::min(static_cast<size_t>(depth), kHeadDepths) - 1].record(share);
}

void Acceptance::record(const DraftTree& tree, std::span<const int32_t> path, bool drawn) {
    const size_t parents = path.size() + (drawn ? 1 : 0);
    for (size_t i = 0; i < parents; ++i) {
        const int32_t parent = i > 0 ? path[i - 1] : -1;
        const int32_t accepted = i < path.size() ? path[i] : -1;
        for (int32_t child = parent + 1; child < static_cast<int32_t>(tree.nodes().size()); ++child) {
            const DraftNode& node = tree.node(child);
            if (node.parent == parent) rates_[cell(node.evidence, node.depth)].record(child == accepted ? 1.0f : 0.0f);
        }
    }
}

}  // namespace colugo
