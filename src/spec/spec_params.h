// How drafts are made: what a launch allows, and what a request asks for within that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace colugo {

enum class SpecMode : uint8_t {
    off,
    mtp,        // a chain from the multi-token-prediction head
    lookup,     // what followed where the text was the same
    tree,       // both, as a tree
    automatic,  // of a tree what pays on this machine
};

// "off", "mtp", "lookup", "tree", "auto"; nothing for another word.
std::optional<SpecMode> spec_mode(std::string_view word);

struct SpecParams {
    SpecMode mode = SpecMode::off;
    int depth = 8;   // of a draft at most
    int top_k = 2;   // children of a node that the MTP head drafts
    int nodes = 16;  // of a verifying pass, the token before the drafts included

    bool uses_head() const { return mode != SpecMode::off && mode != SpecMode::lookup; }
    bool uses_lookup() const { return mode != SpecMode::off && mode != SpecMode::mtp; }
    // Rows of one sequence that the head and the verifying pass work on at most.
    int draft_rows() const { return mode == SpecMode::off ? 0 : std::max(nodes, 1 + (depth - 1) * top_k); }
};

// Throws invalid_argument for what no launch can have: depth 1 to 16, top_k 1 to 8, nodes 2 to 32, and no more rows of
// the head than a page has positions.
void check_spec_params(const SpecParams& params);
// The request's, cut to what the launch allows. Costs are measured at launch, so automatic is the launch's mode unless
// that is automatic too.
SpecParams within(const SpecParams& asked, const SpecParams& limits);

}  // namespace colugo
