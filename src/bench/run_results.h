// What a run of `colugo bench agentic` comes to: results.json and turns.jsonl, whose fields docs/benchmark.md names.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/agent_replay.h"
#include "bench/agent_workload.h"

namespace colugo {

inline constexpr int kResultsFormat = 1;  // of both files: changes where a field changes its meaning or goes

struct AgentRun {
    bool accuracy_only = false;  // the conversations were not to be replayed
    AgentWorkload workload;      // of what was to be done
    ReplayRules rules;
    std::vector<TurnRecord> records;  // in the order of their requests
    double seconds = 0.0;             // from the first request to the end of the last reply
    bool interrupted = false;
    std::string no_ideal;                        // why `ideal_cached` is not told; empty where it is
    std::optional<DraftCounters> before, after;  // of the server
    std::optional<double> joules;                // in `seconds`
    nlohmann::ordered_json bfcl;                 // of the accuracy phase; null: it was not run
    nlohmann::ordered_json setup;                // what makes the run repeatable

    // A record for each turn of the workload, and each has a reply; where the accuracy phase was run, it was run to the
    // end and had any reply.
    bool is_valid() const;
};

nlohmann::ordered_json results_json(const AgentRun& run);
// A line of turns.jsonl.
nlohmann::ordered_json turn_json(const AgentRun& run, const TurnRecord& record);
// The table for people that a run ends with.
std::string results_table(const nlohmann::ordered_json& results);

}  // namespace colugo
