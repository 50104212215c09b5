// What drafts were made and what became of them.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "backend/backend.h"
#include "spec/draft_tree.h"

namespace colugo {

struct SpecCounters {
    struct Tokens {
        int64_t drafted = 0;
        int64_t accepted = 0;
    };
    int64_t passes = 0;  // that verified drafts
    Tokens all;
    Tokens head, lookup;  // a draft of both counts for both
    // [depth - 1] passes with a draft at that depth, and with an accepted one
    std::array<Tokens, kMaxDraftRows> by_depth;
    double draft_seconds = 0.0;  // spent on making drafts

    // A verified tree, and what of it was accepted.
    void record(const DraftTree& tree, std::span<const int32_t> path);
};

// {"passes": .., "drafted": .., "accepted": .., "head": {..}, "lookup": {..}, "by_depth": [..], "seconds": ..}
nlohmann::ordered_json drafts_json(const SpecCounters& counters);

}  // namespace colugo
