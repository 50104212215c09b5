// Drafts behind a token, gathered from several sources into one tree: sources that agree share nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace colugo {

// Who drafts a token, and how sure of it.
struct DraftEvidence {
    float head = 0.0f;  // the MTP head's probability for it behind its parent; 0: it is no draft of the head
    int agreed = 0;     // tokens that the place a lookup found has in common with what is before; 0: no lookup has it
};

struct DraftNode {
    int32_t token;
    int32_t parent;  // an earlier node; -1: the root, which is no draft
    int32_t depth;   // 1 below the root
    DraftEvidence evidence;
    float probability;  // estimated, that the whole path to here is what will be drawn
};

class DraftTree {
 public:
    void clear() { nodes_.clear(); }
    std::span<const DraftNode> nodes() const { return nodes_; }
    const DraftNode& node(int32_t index) const { return nodes_[static_cast<size_t>(index)]; }

    // A child of `parent` with the token; where there is one, that, with the evidence of both. Returns its index.
    int32_t add(int32_t parent, int32_t token, const DraftEvidence& evidence);
    // The node's probability becomes this share of its parent's, which is set before.
    void set_share(int32_t index, float share);
    // The child of `parent` with the token, or -1.
    int32_t child(int32_t parent, int32_t token) const;

    // Keeps the `most` most probable nodes, by depth. root_position: a tree may cross one page border, and past it all
    // descend from one node in the page's last column (backend.h): the most probable way across stays.
    void keep_best(int most, int64_t root_position);

 private:
    std::vector<DraftNode> nodes_;
    std::vector<DraftNode> sorted_;  // scratch, as below
    std::vector<int32_t> order_, place_;
};

}  // namespace colugo
