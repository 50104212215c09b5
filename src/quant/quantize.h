// Post-training quantization of a checkpoint folder into another one: a layer at a time, so that memory holds one
// layer, and in steps that survive being cut off.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/thread_pool.h"
#include "quant/calibration.h"
#include "quant/recipe.h"

namespace colugo {

struct QuantizeOptions {
    std::string source;
    std::string destination;
    Recipe recipe;
    TokenSequences calibration;               // at least one token in all
    nlohmann::ordered_json calibration_info;  // where they come from, for the report
    uint64_t shard_bytes = 5'000'000'000;
    bool search = true;   // false: every scale by largest magnitude, as ModelOpt writes them
    bool resume = false;  // go on with what an earlier run has left
};

// What a run will do, known once its place on the disk is taken.
struct QuantizeEstimate {
    size_t modules = 0;
    int64_t tokens = 0;
    uint64_t source_bytes = 0;
    uint64_t output_bytes = 0;
    uint64_t scratch_bytes = 0;  // on the disk of the destination, until it is done
    double seconds = 0.0;        // from a short trial of this machine
    std::vector<std::string> notices;
};

// Each may be empty; one that throws ends the run, which can be resumed.
struct QuantizeCallbacks {
    std::function<void(const QuantizeEstimate& estimate)> planned;
    // Bytes of the source that are dealt with.
    std::function<void(uint64_t done, uint64_t total)> progress;
};

// Returns the report that also lies in the destination as quantization_report.json: totals, and for each module its
// scheme, bytes, scales and errors (ModuleResult). The same options give the same bytes, resumed or not, for every
// number of threads. Throws what the parts throw.
nlohmann::ordered_json quantize_checkpoint(const QuantizeOptions& options, const QuantizeCallbacks& callbacks,
                                           ThreadPool& threads);

}  // namespace colugo
