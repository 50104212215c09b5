// The files of MLPerf's endpoints harness (mlcommons/endpoints), as its submission checker reads them.
#pragma once

#include <map>
#include <string>

#include "bench/run_results.h"

namespace colugo {

// Texts by path below the results' folder: performance/result_summary.json, accuracy/accuracy_results.json,
// scores.json.
std::map<std::string, std::string> mlperf_files(const AgentRun& run, const std::string& version);

}  // namespace colugo
