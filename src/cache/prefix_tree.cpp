#include "cache/prefix_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/kernel_table.h"

namespace colugo {

namespace {

bool first_token_below(const std::unique_ptr<PrefixTree::Node>& node, int32_t token) {
    return node->tokens.front() < token;
}

size_t common_length(std::span<const int32_t> a, std::span<const int32_t> b) {
    const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<size_t>(ends.first - a.begin());
}

uint64_t snapshot_bytes(int64_t position) {
    return static_cast<uint64_t>(position / kernels::kPage + 1) * sizeof(SlotRef);
}

}  // namespace

uint64_t PrefixTree::root_bytes(std::string_view scope) {
    // The map's node: three pointers, a colour, the root with its name, and what the name has behind it.
    return sizeof(decltype(roots_)::value_type) + 4 * sizeof(void*) + scope.size() + 1;
}

uint64_t PrefixTree::node_bytes(const Node& node) {
    // The parent's pointer included.
    return sizeof(Node) + sizeof(std::unique_ptr<Node>) + node.tokens.size() * sizeof(int32_t) +
           (node.snapshot ? snapshot_bytes(node.position) : 0);
}

uint64_t PrefixTree::most_bytes(int64_t length, std::string_view scope) {
    return root_bytes(scope) + 2 * (sizeof(Node) + sizeof(std::unique_ptr<Node>)) +
           static_cast<uint64_t>(length) * sizeof(int32_t) + snapshot_bytes(length);
}

PrefixTree::Node* PrefixTree::child(const Node& node, int32_t token) const {
    const auto at = std::lower_bound(node.children.begin(), node.children.end(), token, first_token_below);
    return at != node.children.end() && (*at)->tokens.front() == token ? at->get() : nullptr;
}

PrefixTree::Match PrefixTree::match(const Prefix& prefix, int64_t limit) const {
    Match match;
    const auto root = roots_.find(prefix.scope);
    if (root == roots_.end()) return match;
    const Node* node = &root->second;
    for (std::span<const int32_t> tokens = prefix.tokens; !tokens.empty();) {
        Node* next = child(*node, tokens.front());
        if (next == nullptr) break;
        const size_t common = common_length(tokens, next->tokens);
        match.length += static_cast<int64_t>(common);
        if (common < next->tokens.size()) break;
        if (next->snapshot && next->position <= limit) match.deepest = next;
        tokens = tokens.subspan(common);
        node = next;
    }
    return match;
}

PrefixTree::Node* PrefixTree::find(const Prefix& prefix) const {
    Node* deepest = match(prefix, prefix.length()).deepest;
    return deepest != nullptr && deepest->position == prefix.length() ? deepest : nullptr;
}

OwnedPrefix PrefixTree::prefix_of(const Node& node) {
    std::vector<int32_t> tokens(static_cast<size_t>(node.position));
    for (const Node* at = &node; at->parent != nullptr; at = at->parent) {
        std::copy(at->tokens.begin(), at->tokens.end(),
                  tokens.begin() + static_cast<std::ptrdiff_t>(at->parent->position));
    }
    return {std::move(tokens), *node.scope};
}

PrefixTree::Node& PrefixTree::root(std::string_view scope) {
    const auto known = roots_.find(scope);
    if (known != roots_.end()) return known->second;
    const auto made = roots_.try_emplace(std::string(scope)).first;
    made->second.scope = &made->first;
    bytes_ += root_bytes(scope);
    return made->second;
}

PrefixTree::Node& PrefixTree::add_child(Node& parent, std::span<const int32_t> tokens) {
    auto node = std::make_unique<Node>();
    node->parent = &parent;
    node->scope = parent.scope;
    node->tokens.assign(tokens.begin(), tokens.end());
    node->position = parent.position + static_cast<int64_t>(tokens.size());
    const auto at = std::lower_bound(parent.children.begin(), parent.children.end(), tokens.front(), first_token_below);
    bytes_ += node_bytes(*node);
    return **parent.children.insert(at, std::move(node));
}

// Puts a node between `node` and its parent, `tokens` of its tokens further from there.
PrefixTree::Node& PrefixTree::split(Node& node, size_t tokens) {
    bytes_ -= node_bytes(node);
    auto upper = std::make_unique<Node>();
    Node& parent = *node.parent;
    upper->parent = &parent;
    upper->scope = parent.scope;
    upper->tokens.assign(node.tokens.begin(), node.tokens.begin() + static_cast<std::ptrdiff_t>(tokens));
    upper->position = parent.position + static_cast<int64_t>(tokens);
    const auto at =
        std::lower_bound(parent.children.begin(), parent.children.end(), node.tokens.front(), first_token_below);
    node.tokens.erase(node.tokens.begin(), node.tokens.begin() + static_cast<std::ptrdiff_t>(tokens));
    node.tokens.shrink_to_fit();
    node.parent = upper.get();
    upper->children.push_back(std::move(*at));
    *at = std::move(upper);
    bytes_ += node_bytes(node) + node_bytes(**at);
    return **at;
}

PrefixTree::Node& PrefixTree::insert(const Prefix& prefix) {
    COLUGO_CHECK(!prefix.tokens.empty());
    Node* node = &root(prefix.scope);
    for (std::span<const int32_t> tokens = prefix.tokens; !tokens.empty();) {
        Node* next = child(*node, tokens.front());
        if (next == nullptr) return add_child(*node, tokens);
        const size_t common = common_length(tokens, next->tokens);
        if (common < next->tokens.size()) next = &split(*next, common);
        tokens = tokens.subspan(common);
        node = next;
    }
    return *node;
}

void PrefixTree::attach(Node& node, Snapshot snapshot) {
    COLUGO_CHECK(!node.snapshot && snapshot.position == node.position);
    bytes_ -= node_bytes(node);
    node.snapshot = std::move(snapshot);
    bytes_ += node_bytes(node);
    node.index = snapshots_.size();
    snapshots_.push_back(&node);
}

Snapshot PrefixTree::detach(Node& node) {
    COLUGO_CHECK(node.snapshot && snapshots_[node.index] == &node);
    snapshots_.back()->index = node.index;
    snapshots_[node.index] = snapshots_.back();
    snapshots_.pop_back();
    bytes_ -= node_bytes(node);
    Snapshot snapshot = std::move(*node.snapshot);
    node.snapshot.reset();
    node.uses = 0;
    node.stored = false;
    bytes_ += node_bytes(node);
    prune(node);
    return snapshot;
}

void PrefixTree::prune(Node& node) {
    if (node.parent == nullptr) {
        if (!node.children.empty()) return;
        bytes_ -= root_bytes(*node.scope);
        roots_.erase(roots_.find(*node.scope));
        return;
    }
    if (node.snapshot) return;
    if (node.children.size() == 1) return merge_with_only_child(node);
    if (!node.children.empty()) return;
    Node& parent = *node.parent;
    bytes_ -= node_bytes(node);
    std::erase_if(parent.children, [&](const std::unique_ptr<Node>& child) { return child.get() == &node; });
    prune(parent);
}

void PrefixTree::merge_with_only_child(Node& node) {
    std::unique_ptr<Node> only = std::move(node.children.front());
    bytes_ -= node_bytes(node) + node_bytes(*only);
    only->tokens.insert(only->tokens.begin(), node.tokens.begin(), node.tokens.end());
    Node& parent = *node.parent;
    only->parent = &parent;
    bytes_ += node_bytes(*only);
    const auto at = std::find_if(parent.children.begin(), parent.children.end(),
                                 [&](const std::unique_ptr<Node>& child) { return child.get() == &node; });
    *at = std::move(only);  // `node` is gone
}

const PrefixTree::Node* PrefixTree::snapshot_above(const Node& node) {
    const Node* above = node.parent;
    while (above != nullptr && !above->snapshot) above = above->parent;
    return above;
}

std::string PrefixTree::fault() const {
    uint64_t bytes = 0;
    size_t snapshots = 0;
    for (const auto& [scope, root] : roots_) {
        if (root.children.empty()) return fmt::format("the scope {:?} has nothing in it", scope);
        if (root.scope != &scope) return fmt::format("the root of the scope {:?} has another one's name", scope);
        bytes += root_bytes(scope);
        std::string found = fault_below(root, bytes, snapshots);
        if (!found.empty()) return found;
    }
    if (bytes != bytes_) return fmt::format("the tree counts {} bytes and has {}", bytes_, bytes);
    if (snapshots != snapshots_.size()) {
        return fmt::format("the tree lists {} snapshots and has {}", snapshots_.size(), snapshots);
    }
    return {};
}

std::string PrefixTree::fault_below(const Node& node, uint64_t& bytes, size_t& snapshots) const {
    if (node.snapshot) {
        ++snapshots;
        if (node.index >= snapshots_.size() || snapshots_[node.index] != &node) {
            return fmt::format("the snapshot at {} is not listed", node.position);
        }
        if (node.snapshot->position != node.position) {
            return fmt::format("a node at {} has a snapshot at {}", node.position, node.snapshot->position);
        }
    } else if (node.parent != nullptr && node.children.size() < 2) {
        return fmt::format("a node at {} has no snapshot and {} children", node.position, node.children.size());
    }
    for (size_t i = 0; i < node.children.size(); ++i) {
        const Node& child = *node.children[i];
        if (child.parent != &node) return fmt::format("a node at {} has another parent", child.position);
        if (child.scope != node.scope) return fmt::format("a node at {} is in another scope", child.position);
        if (child.tokens.empty()) return fmt::format("a node at {} adds no token", child.position);
        if (child.position != node.position + static_cast<int64_t>(child.tokens.size())) {
            return fmt::format("a node {} tokens behind {} says it is at {}", child.tokens.size(), node.position,
                               child.position);
        }
        if (i > 0 && node.children[i - 1]->tokens.front() >= child.tokens.front()) {
            return fmt::format("the children at {} are not in order", node.position);
        }
        bytes += node_bytes(child);
        std::string found = fault_below(child, bytes, snapshots);
        if (!found.empty()) return found;
    }
    return {};
}

}  // namespace colugo
