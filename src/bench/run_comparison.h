// Runs of one workload side by side, from what their folders say (docs/benchmark.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace colugo {

struct RecordedRun {
    std::string name;
    nlohmann::ordered_json results;             // results.json
    std::vector<nlohmann::ordered_json> turns;  // the lines of turns.jsonl
};

// A results folder. Throws not_found, io, and invalid_file for what is none or of another format.
RecordedRun read_run(const std::string& folder);

// Which conversations count: those whose ids have one of `only` in them, all where it is empty, but none of `without`.
struct ConversationFilter {
    std::vector<std::string> only, without;

    bool takes(const std::string& id) const;
    std::string text() const;  // "conversations count with a or b in their ids and without c"
};

// {"runs": [...], "pairs": [...]}: each run by itself, and each but the first beside it, turn by turn. Intervals are of
// 95 %, from resampled conversations, or turns where there are too few of these. Throws invalid_argument where a pair
// has no turn in common, or none that the filter takes.
nlohmann::ordered_json compare_runs(const std::vector<RecordedRun>& runs, const ConversationFilter& filter);

std::string comparison_table(const nlohmann::ordered_json& comparison);

}  // namespace colugo
