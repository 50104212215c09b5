// report.html: a run on one page, which needs nothing from elsewhere.
#pragma once

#include <string>

#include "bench/run_results.h"

namespace colugo {

// `results`: results_json(run).
std::string report_page(const AgentRun& run, const nlohmann::ordered_json& results);

}  // namespace colugo
