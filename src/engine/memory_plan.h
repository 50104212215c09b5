// How much memory a launch takes, and for what, before any of it is taken.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "cache/cache_manager.h"
#include "checkpoint/weights.h"
#include "engine/launch_options.h"

namespace colugo {

struct MemoryPlan {
    int64_t ctx_size = 0;  // positions of each sequence
    int parallel = 1;      // sequences
    StateFormat format;    // sizes only
    uint64_t weight_bytes = 0;
    uint64_t workspace_bytes = 0;  // activations of the longest pass, logits, tokens
    uint64_t cache_bytes = 0;      // the budget of what sequences and the prefix cache hold

    // Of every sequence at its longest.
    int64_t pages() const { return (ctx_size + kernels::kPage - 1) / kernels::kPage * parallel; }
    uint64_t kv_bytes() const { return static_cast<uint64_t>(pages()) * format.page_bytes; }
    // Of one sequence beside its pages.
    uint64_t state_bytes() const { return format.sequence_bytes(0); }
    // The least that `sequences` at their longest need of it.
    uint64_t least_cache_bytes(int sequences) const {
        return format.fixed_bytes() + static_cast<uint64_t>(sequences) * format.sequence_bytes(ctx_size);
    }
    // Positions and snapshots the cache has room for: of one conversation, with nothing else in it.
    int64_t cached_tokens() const;
    uint64_t total_bytes() const { return weight_bytes + workspace_bytes + cache_bytes; }
};

// How the model of a launch is made.
ModelOptions model_options(const LaunchOptions& options, kernels::KvType kv_type);

// The plan for options.ctx_size, or for the model's own limit where that is 0; cache_bytes is what the options ask for,
// or what every sequence at its longest needs. `report` may come from plan_weights. Throws invalid_argument when
// ctx_size is outside 1..max_position_embeddings.
MemoryPlan plan_memory(const ModelConfig& config, const LoadReport& report, kernels::KvType kv_type,
                       const LaunchOptions& options, Backend& backend);

// Makes the plan fit into `available` bytes. Where options.ctx_size is 0 the context shrinks, which adds a sentence to
// `notices`; else, or when not even a short context fits, throws resource_exhausted with the plan's parts. Where the
// size of the cache is left open and prefixes are kept, it grows to half of what is left.
void fit_memory(MemoryPlan& plan, const LaunchOptions& options, uint64_t available, std::vector<std::string>& notices);

// "1.5 GiB", "820 KiB"
std::string bytes_text(uint64_t bytes);

}  // namespace colugo
