#include "spec/spec_counters.h"

#include <nlohmann/json.hpp>

namespace colugo {

namespace {

void count(const DraftNode& node, SpecCounters& counters, int64_t SpecCounters::Tokens::*which) {
    ++(counters.all.*which);
    if (node.evidence.head > 0.0f) ++(counters.head.*which);
    if (node.evidence.agreed > 0) ++(counters.lookup.*which);
}

nlohmann::ordered_json json(const SpecCounters::Tokens& tokens) {
    return {{"drafted", tokens.drafted}, {"accepted", tokens.accepted}};
}

}  // namespace

void SpecCounters::record(const DraftTree& tree, std::span<const int32_t> path) {
    if (tree.nodes().empty()) return;
    ++passes;
    for (const DraftNode& node : tree.nodes()) count(node, *this, &Tokens::drafted);
    for (const int32_t node : path) count(tree.node(node), *this, &Tokens::accepted);
    for (int32_t depth = 0; depth < tree.nodes().back().depth; ++depth) ++by_depth[static_cast<size_t>(depth)].drafted;
    for (size_t depth = 0; depth < path.size(); ++depth) ++by_depth[depth].accepted;
}

nlohmann::ordered_json drafts_json(const SpecCounters& counters) {
    nlohmann::ordered_json by_depth = nlohmann::ordered_json::array();
    for (const SpecCounters::Tokens& tokens : counters.by_depth) {
        if (tokens.drafted > 0) by_depth.push_back(json(tokens));
    }
    return {{"passes", counters.passes},        {"drafted", counters.all.drafted}, {"accepted", counters.all.accepted},
            {"head", json(counters.head)},      {"lookup", json(counters.lookup)}, {"by_depth", std::move(by_depth)},
            {"seconds", counters.draft_seconds}};
}

}  // namespace colugo
