// A radix tree over token ids for each scope, whose nodes say where there is a snapshot of a sequence. Prefixes are
// compared token by token; nothing is hashed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/prefix.h"
#include "cache/snapshot.h"

namespace colugo {

class PrefixTree {
 public:
    struct Node {
        Node* parent = nullptr;
        const std::string* scope = nullptr;           // whose tree it is in
        std::vector<int32_t> tokens;                  // on the way from the parent to here; none at the root
        int64_t position = 0;                         // tokens on the way from the root to here
        std::vector<std::unique_ptr<Node>> children;  // ascending by first token

        std::optional<Snapshot> snapshot;
        size_t index = 0;       // in snapshots() while there is one
        double last_use = 0.0;  // the cache's clock then
        int64_t uses = 0;
        bool stored = false;  // it is on disk too, or could not be put there
    };
    struct Match {
        int64_t length = 0;       // tokens that the tree has in common with the sequence
        Node* deepest = nullptr;  // the deepest node on the way with a snapshot, no deeper than the limit
    };

    Match match(const Prefix& prefix, int64_t limit) const;
    // The prefix's node with a snapshot, or nullptr.
    Node* find(const Prefix& prefix) const;
    // The scope, and all tokens from the root to the node.
    static OwnedPrefix prefix_of(const Node& node);
    // The prefix's node, made where there is none.
    Node& insert(const Prefix& prefix);
    // The node must have none yet.
    void attach(Node& node, Snapshot snapshot);
    // Takes the node's snapshot away, and the node where it leads to none and parts no ways. Returns the snapshot.
    Snapshot detach(Node& node);
    // Drops nodes that insert() made for a snapshot that was not attached.
    void prune(Node& node);

    // Nodes with a snapshot, in no order.
    const std::vector<Node*>& snapshots() const { return snapshots_; }
    // The nearest node above with a snapshot, or nullptr.
    static const Node* snapshot_above(const Node& node);
    // Of scopes, nodes and tokens.
    uint64_t bytes() const { return bytes_; }
    // Scopes there is something in.
    size_t num_scopes() const { return roots_.size(); }
    // What insert() adds at most for a prefix of this length and a snapshot attached to it.
    static uint64_t most_bytes(int64_t length, std::string_view scope);

    // What is wrong, in a sentence; empty where all holds.
    std::string fault() const;

 private:
    Node* child(const Node& node, int32_t token) const;
    Node& root(std::string_view scope);
    Node& add_child(Node& parent, std::span<const int32_t> tokens);
    Node& split(Node& node, size_t tokens);
    void merge_with_only_child(Node& node);
    static uint64_t root_bytes(std::string_view scope);
    static uint64_t node_bytes(const Node& node);
    std::string fault_below(const Node& node, uint64_t& bytes, size_t& snapshots) const;

    std::map<std::string, Node, std::less<>> roots_;  // by scope; each with children
    std::vector<Node*> snapshots_;
    uint64_t bytes_ = 0;
};

}  // namespace colugo
