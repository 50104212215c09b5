// What a launch chooses once for all requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/compute_mode.h"
#include "kernels/kernel_table.h"
#include "spec/spec_params.h"

namespace colugo {

struct LaunchOptions {
    std::string model;  // a checkpoint folder
    ComputeMode compute = ComputeMode::bf16;
    std::optional<kernels::KvType> kv_type;  // absent: choose_kv_type decides
    int threads = 0;                         // 0: every processor this process may use
    int64_t ctx_size = 0;                    // positions of each sequence; 0: the model's, or what fits in memory
    int parallel = 1;                        // sequences at a time
    int max_rows = 512;                      // of one pass: the length of a prefill chunk
    bool with_mtp = false;                   // the MTP head's keys and values are filled for every token
    SpecParams spec = {};                    // what requests may ask for; a mode that drafts by the head needs with_mtp
    uint64_t cache_bytes = 0;                // of what sequences and the prefix cache hold; 0: as fit_memory chooses
    bool keep_prefixes = false;              // what sequences leave behind is worth memory
};

std::string_view kv_type_name(kernels::KvType type);
// The one of that name; none for another, "auto" among them.
std::optional<kernels::KvType> find_kv_type(std::string_view name);

// The one asked for, else f32 under compute f32, else what the checkpoint declares where it is known, else bf16.
kernels::KvType choose_kv_type(const LaunchOptions& options, std::string_view declared);

}  // namespace colugo
