// Whether the calls of a reply are those that a question of BFCL asks for: the rules of bfcl-eval's checker.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bench/bfcl_subsets.h"

namespace colugo {

// A tool call as a reply has it.
struct BfclCall {
    std::string name;
    std::string arguments;  // a JSON object; blank: {}
};

// Those of a message's tool_calls in OpenAI's form; null: none. What lacks a name has an empty one.
std::vector<BfclCall> bfcl_calls(const nlohmann::ordered_json& tool_calls);

struct BfclVerdict {
    bool right = false;
    std::string reason;  // one sentence that says why not
};

// functions and answers: a sample's (bfcl_data.h). Right is one call for each answer and none besides, in any order:
// the function's name, with "_" for ".", all parameters it requires and all that may not be left out, no other ones,
// each with one of its possible values.
BfclVerdict check_bfcl_calls(BfclLanguage language, const nlohmann::ordered_json& functions,
                             const nlohmann::ordered_json& answers, std::span<const BfclCall> calls);

}  // namespace colugo
