// What a ByteGrammar knows about each of its nodes, computed once from the edges.
#pragma once

#include <cstdint>
#include <vector>

#include "sampling/byte_grammar.h"

namespace colugo {

class GrammarAnalysis {
 public:
    // Borrows both.
    GrammarAnalysis(std::vector<GrammarNode>& nodes, const std::vector<GrammarEdge>& edges);

    // Nodes that follow one another in a circle without a byte or a token; empty: there is no such circle.
    std::vector<uint32_t> find_left_recursion() const;
    // Sets lives, plain, returns_only, broad and need of every node.
    void fill_in();

 private:
    template <typename Visit>
    void visit_edges(uint32_t node, Visit&& visit) const;
    // Calls change(node) for all nodes until nothing does, again where a node that it looks at has changed.
    template <typename Change>
    void settle(Change&& change) const;
    std::vector<uint8_t> find_nullable() const;
    uint8_t need_of(uint32_t node) const;

    std::vector<GrammarNode>& nodes_;
    const std::vector<GrammarEdge>& edges_;
    // The nodes with an edge to or a return into node n: dependents_[first_dependent_[n] .. first_dependent_[n + 1]).
    std::vector<uint32_t> first_dependent_, dependents_;
};

}  // namespace colugo
