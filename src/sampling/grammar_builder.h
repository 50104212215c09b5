// Builds a ByteGrammar. A fragment leads from one node to another: it adds no edge into its first node and none out of
// its last, so fragments between the same two nodes are alternatives and fragments in a row a sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sampling/byte_grammar.h"

namespace colugo {

class GrammarBuilder {
 public:
    static constexpr uint32_t kMaxNodes = 500'000;
    static constexpr uint32_t kMaxEdges = 2'000'000;

    GrammarBuilder();

    // Throws invalid_argument when the grammar gets too large, as do all below.
    uint32_t add_node() { return add_nodes(1); }
    // `count` nodes in a row; the first.
    uint32_t add_nodes(uint32_t count);
    // The flags of a node (accepts, any, fill, remaining).
    GrammarNode& node(uint32_t id) { return nodes_[id].node; }
    // What a message calls the part of the grammar that begins at this node. Parts that others refer to in a circle
    // need one.
    void name(uint32_t id, std::string name) { names_.emplace(id, std::move(name)); }

    void bytes(uint32_t from, uint8_t low, uint8_t high, uint32_t to);
    void byte(uint32_t from, char value, uint32_t to);
    // One byte, then what begins at `callee` up to where it accepts, then `to`.
    void bytes_call(uint32_t from, uint8_t low, uint8_t high, uint32_t callee, uint32_t to);
    void empty(uint32_t from, uint32_t to);
    void call(uint32_t from, uint32_t callee, uint32_t to);
    void token(uint32_t from, int32_t token, uint32_t to);
    void literal(uint32_t from, std::string_view text, uint32_t to);
    // One of the words; they may begin with one another.
    void words(uint32_t from, std::vector<std::string> words, uint32_t to);
    // The byte that opens an object or array, and its inside.
    void nest(uint32_t from, char open, uint32_t inside, uint32_t to);
    // Gives `id` the edges of `model`, relative to itself; neither gets others after.
    void share_edges(uint32_t id, uint32_t model);

    // Throws invalid_argument where nothing can be written from `start`, and where a part leads back to itself before
    // anything is written. The builder is used up.
    ByteGrammar finish(uint32_t start);

 private:
    static constexpr uint32_t kNoEdge = 0xFFFFFFFF;
    struct Node {
        GrammarNode node;
        uint32_t last_edge = kNoEdge;  // into edges_, a list by `previous`
    };
    struct Edge {
        GrammarEdge edge;
        uint32_t previous;
    };

    void add_edge(uint32_t from, GrammarEdge edge, uint32_t to, std::optional<uint32_t> next);
    void lay_out(std::vector<GrammarNode>& nodes, std::vector<GrammarEdge>& edges) const;

    std::vector<Node> nodes_;
    std::vector<Edge> edges_;
    std::unordered_map<uint32_t, std::string> names_;
};

}  // namespace colugo
