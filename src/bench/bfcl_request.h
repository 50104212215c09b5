// BFCL's functions as the tools of OpenAI's API, and the requests of the accuracy phase.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/bfcl_data.h"

namespace colugo {

// [{"type": "function", "function": {...}}, ...]: the functions with JSON schema's types for BFCL's, "_" for "." in
// their names, and otherwise as they are; a float has "format": "float" and says in its description that it is one.
nlohmann::ordered_json bfcl_tools(const nlohmann::ordered_json& functions);

// What a name of BFCL is called in tools and calls.
std::string bfcl_tool_name(std::string name);

// The part of a chat request that is the sample's: messages, and tools with tool_choice auto where it has functions.
// Model, sampling and streaming are the caller's.
nlohmann::ordered_json bfcl_request(const BfclSample& sample);

}  // namespace colugo
