#include "spec/spec_params.h"

#include "backend/backend.h"
#include "base/error.h"

namespace colugo {

std::optional<SpecMode> spec_mode(std::string_view word) {
    if (word == "off") return SpecMode::off;
    if (word == "mtp") return SpecMode::mtp;
    if (word == "lookup") return SpecMode::lookup;
    if (word == "tree") return SpecMode::tree;
    if (word == "auto") return SpecMode::automatic;
    return std::nullopt;
}

void check_spec_params(const SpecParams& params) {
    const auto check = [](const char* name, int value, int least, int most) {
        if (value >= least && value <= most) return;
        fail(ErrorCode::invalid_argument, "{} is {}; expected {} to {}", name, value, least, most);
    };
    check("spec-depth", params.depth, 1, 16);
    check("spec-topk", params.top_k, 1, 8);
    check("spec-nodes", params.nodes, 2, kMaxDraftRows);
    if (params.draft_rows() > kMaxDraftRows) {
        fail(ErrorCode::invalid_argument,
             "spec-depth {} with spec-topk {} makes {} rows of the MTP head; expected at most {}", params.depth,
             params.top_k, params.draft_rows(), kMaxDraftRows);
    }
}

SpecParams within(const SpecParams& asked, const SpecParams& limits) {
    SpecParams params = asked;
    if (params.mode == SpecMode::automatic) params.mode = limits.mode;
    if (!limits.uses_head() && params.uses_head()) {
        params.mode = params.uses_lookup() && limits.uses_lookup() ? SpecMode::lookup : SpecMode::off;
    }
    if (!limits.uses_lookup() && params.uses_lookup()) {
        params.mode = params.uses_head() ? SpecMode::mtp : SpecMode::off;
    }
    params.depth = std::min(params.depth, limits.depth);
    params.top_k = std::min(params.top_k, limits.top_k);
    params.nodes = std::min(params.nodes, limits.nodes);
    return params;
}

}  // namespace colugo
