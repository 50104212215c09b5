#include "sampling/grammar_builder.h"

#include <algorithm>

#include "base/error.h"
#include "sampling/grammar_analysis.h"

namespace colugo {

GrammarBuilder::GrammarBuilder() {
    static_assert(ByteGrammar::kEnd == 0 && ByteGrammar::kNowhere == 1);
    add_nodes(2);
    node(ByteGrammar::kEnd).accepts = true;
}

uint32_t GrammarBuilder::add_nodes(uint32_t count) {
    if (count > kMaxNodes - nodes_.size())
        fail(ErrorCode::invalid_argument, "the grammar of the reply would need more than {} states", kMaxNodes);
    nodes_.resize(nodes_.size() + count);
    return static_cast<uint32_t>(nodes_.size()) - count;
}

void GrammarBuilder::add_edge(uint32_t from, GrammarEdge edge, uint32_t to, std::optional<uint32_t> next) {
    if (edges_.size() == kMaxEdges)
        fail(ErrorCode::invalid_argument, "the grammar of the reply would need more than {} transitions", kMaxEdges);
    const auto relative = [&](uint32_t node) { return static_cast<int32_t>(node) - static_cast<int32_t>(from); };
    edge.target = next ? static_cast<int32_t>(to) : relative(to);
    if (next) edge.next = relative(*next);
    edges_.push_back({edge, nodes_[from].last_edge});
    nodes_[from].last_edge = static_cast<uint32_t>(edges_.size()) - 1;
}

void GrammarBuilder::bytes(uint32_t from, uint8_t low, uint8_t high, uint32_t to) {
    add_edge(from, {.kind = GrammarEdge::Kind::bytes, .low = low, .high = high}, to, std::nullopt);
}

void GrammarBuilder::byte(uint32_t from, char value, uint32_t to) {
    bytes(from, static_cast<uint8_t>(value), static_cast<uint8_t>(value), to);
}

void GrammarBuilder::empty(uint32_t from, uint32_t to) {
    add_edge(from, {.kind = GrammarEdge::Kind::empty}, to, std::nullopt);
}

void GrammarBuilder::token(uint32_t from, int32_t token, uint32_t to) {
    add_edge(from, {.kind = GrammarEdge::Kind::token, .token = token}, to, std::nullopt);
}

void GrammarBuilder::bytes_call(uint32_t from, uint8_t low, uint8_t high, uint32_t callee, uint32_t to) {
    add_edge(from, {.kind = GrammarEdge::Kind::bytes, .low = low, .high = high}, callee, to);
}

void GrammarBuilder::call(uint32_t from, uint32_t callee, uint32_t to) {
    add_edge(from, {.kind = GrammarEdge::Kind::call}, callee, to);
}

void GrammarBuilder::literal(uint32_t from, std::string_view text, uint32_t to) {
    if (text.empty()) return empty(from, to);
    for (size_t i = 0; i < text.size(); ++i) {
        const uint32_t target = i + 1 == text.size() ? to : add_node();
        byte(from, text[i], target);
        from = target;
    }
}

void GrammarBuilder::words(uint32_t from, std::vector<std::string> words, uint32_t to) {
    std::sort(words.begin(), words.end());
    std::vector<uint32_t> path = {from};  // of the word before, by length
    std::string_view before;
    for (const std::string& word : words) {
        const auto [end, same] = std::mismatch(before.begin(), before.end(), word.begin(), word.end());
        path.resize(static_cast<size_t>(end - before.begin()) + 1);
        for (size_t i = path.size() - 1; i < word.size(); ++i) {
            path.push_back(add_node());
            byte(path[i], word[i], path[i + 1]);
        }
        if (word != before || word.empty()) empty(path.back(), to);
        before = word;
    }
}

void GrammarBuilder::nest(uint32_t from, char open, uint32_t inside, uint32_t to) {
    const uint32_t back = add_node();
    node(back).leaves_nesting = true;
    empty(back, to);
    bytes_call(from, static_cast<uint8_t>(open), static_cast<uint8_t>(open), inside, back);
}

void GrammarBuilder::share_edges(uint32_t id, uint32_t model) {
    COLUGO_CHECK(nodes_[id].last_edge == kNoEdge);
    nodes_[id].last_edge = nodes_[model].last_edge;
}

void GrammarBuilder::lay_out(std::vector<GrammarNode>& nodes, std::vector<GrammarEdge>& edges) const {
    std::unordered_map<uint32_t, uint32_t> owners;  // last edge -> the first node with these edges
    nodes.reserve(nodes_.size());
    edges.reserve(edges_.size());
    for (uint32_t id = 0; id < nodes_.size(); ++id) {
        GrammarNode node = nodes_[id].node;
        const auto [owner, first] = owners.emplace(nodes_[id].last_edge, id);
        if (nodes_[id].last_edge != kNoEdge && !first) {
            node.first_edge = nodes[owner->second].first_edge;
            node.num_edges = nodes[owner->second].num_edges;
        } else {
            node.first_edge = static_cast<uint32_t>(edges.size());
            for (uint32_t edge = nodes_[id].last_edge; edge != kNoEdge; edge = edges_[edge].previous)
                edges.push_back(edges_[edge].edge);
            node.num_edges = static_cast<uint32_t>(edges.size()) - node.first_edge;
            std::reverse(edges.begin() + node.first_edge, edges.end());
        }
        nodes.push_back(node);
    }
}

ByteGrammar GrammarBuilder::finish(uint32_t start) {
    std::vector<GrammarNode> nodes;
    std::vector<GrammarEdge> edges;
    lay_out(nodes, edges);
    GrammarAnalysis analysis(nodes, edges);
    for (const uint32_t node : analysis.find_left_recursion())
        if (const auto name = names_.find(node); name != names_.end())
            fail(ErrorCode::invalid_argument, "{} leads back to itself before anything is written", name->second);
    analysis.fill_in();
    if (nodes[start].need > kMaxGrammarNesting)
        fail(ErrorCode::invalid_argument,
             "no reply could satisfy the schema: every value of it nests deeper than {} levels, or there is none",
             kMaxGrammarNesting);
    return ByteGrammar(std::move(nodes), std::move(edges), start);
}

}  // namespace colugo
