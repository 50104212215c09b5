#include "spec/draft_tree.h"

#include <algorithm>

#include "kernels/kernel_table.h"

namespace colugo {

int32_t DraftTree::child(int32_t parent, int32_t token) const {
    for (size_t i = static_cast<size_t>(parent + 1); i < nodes_.size(); ++i) {
        if (nodes_[i].parent == parent && nodes_[i].token == token) return static_cast<int32_t>(i);
    }
    return -1;
}

int32_t DraftTree::add(int32_t parent, int32_t token, const DraftEvidence& evidence) {
    if (const int32_t known = child(parent, token); known >= 0) {
        DraftEvidence& there = nodes_[static_cast<size_t>(known)].evidence;
        there.head = std::max(there.head, evidence.head);
        there.agreed = std::max(there.agreed, evidence.agreed);
        return known;
    }
    nodes_.push_back({token, parent, parent >= 0 ? node(parent).depth + 1 : 1, evidence, 0.0f});
    return static_cast<int32_t>(nodes_.size()) - 1;
}

void DraftTree::set_share(int32_t index, float share) {
    DraftNode& one = nodes_[static_cast<size_t>(index)];
    one.probability = share * (one.parent >= 0 ? node(one.parent).probability : 1.0f);
}

void DraftTree::keep_best(int most, int64_t root_position) {
    constexpr int32_t kLeftOut = -2;
    order_.resize(nodes_.size());
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int32_t>(i);
    // A child is no more probable than its parent and comes later, so a parent is looked at first.
    std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
        return node(a).probability != node(b).probability ? node(a).probability > node(b).probability : a < b;
    });
    place_.assign(nodes_.size(), kLeftOut);
    int kept = 0;
    int32_t crossing = kLeftOut;
    for (const int32_t index : order_) {
        const DraftNode& one = node(index);
        if (kept == most) break;
        if (one.parent >= 0 && place_[static_cast<size_t>(one.parent)] == kLeftOut) continue;
        if (one.parent >= 0 && (root_position + one.depth) % kernels::kPage == 0) {
            if (crossing != kLeftOut && crossing != one.parent) continue;
            crossing = one.parent;
        }
        place_[static_cast<size_t>(index)] = 0;
        ++kept;
    }
    // By depth, and within it as they were added: parents before children.
    std::erase_if(order_, [&](int32_t index) { return place_[static_cast<size_t>(index)] == kLeftOut; });
    std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
        return node(a).depth != node(b).depth ? node(a).depth < node(b).depth : a < b;
    });
    for (size_t i = 0; i < order_.size(); ++i) place_[static_cast<size_t>(order_[i])] = static_cast<int32_t>(i);
    sorted_.clear();
    for (const int32_t index : order_) {
        sorted_.push_back(node(index));
        int32_t& parent = sorted_.back().parent;
        if (parent >= 0) parent = place_[static_cast<size_t>(parent)];
    }
    nodes_.swap(sorted_);
}

}  // namespace colugo
