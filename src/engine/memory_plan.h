// How much memory a launch takes, and for what, before any of it is taken.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/weights.h"
#include "engine/launch_options.h"

namespace colugo {

struct MemoryPlan {
    int64_t ctx_size = 0;  // positions of each sequence
    int parallel = 1;      // sequences
    int64_t page_bytes = 0;
    int64_t pages = 0;             // for every sequence at its full length
    uint64_t weight_bytes = 0;     // all weights
    uint64_t state_bytes = 0;      // of one sequence beside its pages
    uint64_t workspace_bytes = 0;  // activations of the longest pass, and logits

    uint64_t kv_bytes() const { return static_cast<uint64_t>(pages * page_bytes); }
    uint64_t total_bytes() const {
        return weight_bytes + kv_bytes() + static_cast<uint64_t>(parallel) * state_bytes + workspace_bytes;
    }
};

// The plan for options.ctx_size, or for the model's own limit where that is 0. `report` may come from plan_weights.
// Throws invalid_argument when ctx_size is outside 1..max_position_embeddings.
MemoryPlan plan_memory(const ModelConfig& config, const LoadReport& report, kernels::KvType kv_type,
                       const LaunchOptions& options, Backend& backend);

// Makes the plan fit into `available` bytes: where options.ctx_size is 0 the context shrinks, which adds a sentence to
// `notices`; else, or when not even a short context fits, throws resource_exhausted with the plan's parts.
void fit_memory(MemoryPlan& plan, const LaunchOptions& options, uint64_t available, std::vector<std::string>& notices);

// "1.5 GiB", "820 KiB"
std::string bytes_text(uint64_t bytes);

}  // namespace colugo
