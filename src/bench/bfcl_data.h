// The questions of BFCL and their possible answers, read from a folder as the Python package bfcl-eval ships it:
// BFCL_v4_<subset>.json, one question a line, and possible_answer/ beside them with the same names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/bfcl_subsets.h"

namespace colugo {

struct BfclSample {
    const BfclSubset* subset;
    std::string id;
    nlohmann::ordered_json messages;   // [{"role", "content"}, ...], the question's turns one after the other
    nlohmann::ordered_json functions;  // [{"name", "parameters": {"properties", "required"}, ...}, ...] in BFCL's types
    // The calls that are right, in any order: [{function: {parameter: [possible value, ...]}}, ...]; "" among the
    // values says that the parameter may be left out. Empty where the subset wants no calls.
    nlohmann::ordered_json answers;
};

// The rows asked of every subset. Throws not_found or invalid_file, naming the file and the line.
std::vector<BfclSample> read_bfcl_samples(const std::string& folder);

}  // namespace colugo
