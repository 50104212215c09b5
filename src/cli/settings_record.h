// The settings of a run that do not stand on its command line, for its results.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace colugo {

// {"variables": the COLUGO_* variables that are set, "file": `file`, null where it is empty, "values": what it says}.
// Keys are left out: of each it says only that there is one. Throws not_found, io or invalid_file where the file cannot
// be read.
nlohmann::ordered_json settings_record(const std::string& file);

}  // namespace colugo
