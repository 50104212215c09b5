#include "sampling/grammar_analysis.h"

#include <algorithm>
#include <numeric>

namespace colugo {
namespace {

constexpr uint8_t kNever = kMaxGrammarNesting + 1;
constexpr int kBroadBytes =
    20;  // more than begin a value or go on in a number, fewer than in the narrowest class of words

// A node on the way of a search in depth.
struct Visit {
    uint32_t node, step;  // step: two for each edge, its target and where it returns
};

std::vector<uint32_t> circle(const std::vector<Visit>& path, uint32_t first) {
    std::vector<uint32_t> nodes;
    for (auto visit = path.rbegin(); nodes.empty() || nodes.back() != first; ++visit) nodes.push_back(visit->node);
    return nodes;
}

}  // namespace

template <typename Visit>
void GrammarAnalysis::visit_edges(uint32_t node, Visit&& visit) const {
    const GrammarNode& from = nodes_[node];
    for (uint32_t i = 0; i < from.num_edges; ++i) visit(edges_[from.first_edge + i]);
}

GrammarAnalysis::GrammarAnalysis(std::vector<GrammarNode>& nodes, const std::vector<GrammarEdge>& edges)
    : nodes_(nodes), edges_(edges), first_dependent_(nodes.size() + 1) {
    const auto count = static_cast<uint32_t>(nodes.size());
    for (uint32_t node = 0; node < count; ++node)
        visit_edges(node, [&](const GrammarEdge& edge) {
            ++first_dependent_[edge.target_from(node)];
            if (edge.calls()) ++first_dependent_[edge.next_from(node)];
        });
    std::partial_sum(first_dependent_.begin(), first_dependent_.end(), first_dependent_.begin());
    dependents_.resize(first_dependent_.back());
    for (uint32_t node = 0; node < count; ++node)
        visit_edges(node, [&](const GrammarEdge& edge) {
            dependents_[--first_dependent_[edge.target_from(node)]] = node;
            if (edge.calls()) dependents_[--first_dependent_[edge.next_from(node)]] = node;
        });
}

template <typename Change>
void GrammarAnalysis::settle(Change&& change) const {
    std::vector<uint32_t> work(nodes_.size());
    std::iota(work.rbegin(), work.rend(), 0u);
    std::vector<uint8_t> waits(nodes_.size(), 1);
    while (!work.empty()) {
        const uint32_t node = work.back();
        work.pop_back();
        waits[node] = 0;
        if (!change(node)) continue;
        for (uint32_t i = first_dependent_[node]; i < first_dependent_[node + 1]; ++i) {
            const uint32_t dependent = dependents_[i];
            if (waits[dependent]) continue;
            waits[dependent] = 1;
            work.push_back(dependent);
        }
    }
}

std::vector<uint8_t> GrammarAnalysis::find_nullable() const {
    std::vector<uint8_t> nullable(nodes_.size());
    settle([&](uint32_t node) {
        if (nullable[node]) return false;
        bool yes = nodes_[node].accepts;
        visit_edges(node, [&](const GrammarEdge& edge) {
            if (edge.kind == GrammarEdge::Kind::empty) yes |= nullable[edge.target_from(node)] != 0;
            if (edge.kind == GrammarEdge::Kind::call)
                yes |= nullable[edge.target_from(node)] != 0 && nullable[edge.next_from(node)] != 0;
        });
        nullable[node] = yes;
        return yes;
    });
    return nullable;
}

std::vector<uint32_t> GrammarAnalysis::find_left_recursion() const {
    const std::vector<uint8_t> nullable = find_nullable();
    enum : uint8_t { fresh, open, closed };
    std::vector<uint8_t> state(nodes_.size(), fresh);
    std::vector<Visit> path;
    for (uint32_t root = 0; root < nodes_.size(); ++root) {
        if (state[root] != fresh) continue;
        state[root] = open;
        path.push_back({root, 0});
        while (!path.empty()) {
            Visit& visit = path.back();
            const GrammarNode& node = nodes_[visit.node];
            if (visit.step == 2 * node.num_edges) {
                state[visit.node] = closed;
                path.pop_back();
                continue;
            }
            const GrammarEdge& edge = edges_[node.first_edge + visit.step / 2];
            const bool returns = visit.step++ % 2 != 0;
            if (edge.kind != GrammarEdge::Kind::empty && edge.kind != GrammarEdge::Kind::call) continue;
            if (returns && (!edge.calls() || !nullable[edge.target_from(visit.node)])) continue;
            const uint32_t target = returns ? edge.next_from(visit.node) : edge.target_from(visit.node);
            if (state[target] == open) return circle(path, target);
            if (state[target] == closed) continue;
            state[target] = open;
            path.push_back({target, 0});
        }
    }
    return {};
}

uint8_t GrammarAnalysis::need_of(uint32_t id) const {
    const GrammarNode& node = nodes_[id];
    uint8_t need = node.accepts ? 0 : kNever;
    visit_edges(id, [&](const GrammarEdge& edge) {
        uint8_t through = nodes_[edge.target_from(id)].need;
        if (edge.calls()) {
            const GrammarNode& next = nodes_[edge.next_from(id)];
            if (next.leaves_nesting && through < kNever) ++through;
            through = std::max(through, next.need);
        }
        need = std::min(need, through);
    });
    return need;
}

void GrammarAnalysis::fill_in() {
    for (GrammarNode& node : nodes_) node.need = kNever;
    settle([&](uint32_t node) {
        const uint8_t need = need_of(node);
        const bool changed = need != nodes_[node].need;
        nodes_[node].need = need;
        return changed;
    });
    for (uint32_t id = 0; id < nodes_.size(); ++id) {
        GrammarNode& node = nodes_[id];
        node.lives = id == ByteGrammar::kEnd || node.any;
        node.plain = !node.accepts;
        int width = 0;
        visit_edges(id, [&](const GrammarEdge& edge) {
            if (edge.kind == GrammarEdge::Kind::bytes) width += edge.high - edge.low + 1;
            const bool writes = edge.kind == GrammarEdge::Kind::bytes || edge.kind == GrammarEdge::Kind::token;
            node.lives |= writes;
            node.plain &= writes;
        });
        node.broad = width >= kBroadBytes;
    }
    // Of chains of such nodes only the last ones are seen, which is what calls end in.
    const auto returns = [&](uint32_t id) {
        const GrammarNode& node = nodes_[id];
        return id != ByteGrammar::kEnd && node.accepts && node.num_edges == 0 && !node.any && !node.leaves_nesting;
    };
    for (uint32_t id = 0; id < nodes_.size(); ++id) {
        GrammarNode& node = nodes_[id];
        node.returns_only = returns(id);
        if (node.accepts || node.num_edges != 1 || node.leaves_nesting) continue;
        const GrammarEdge& edge = edges_[node.first_edge];
        if (edge.kind == GrammarEdge::Kind::empty) node.returns_only = returns(edge.target_from(id));
    }
}

}  // namespace colugo
