// POST /v1/completions: a request's body, read and checked. docs/api.md says what each field does.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/generation_fields.h"

namespace colugo {

struct CompletionRequest {
    GenerationFields generation = {};
    // One of the two. In a text control tokens are spelled as such; ids are below the vocabulary's size.
    std::string prompt = {};
    std::vector<int32_t> prompt_ids = {};
    std::vector<std::string> unknown_fields = {};  // that mean nothing here, sorted; at most 16
};

// Throws ApiError (400) and nothing else.
CompletionRequest read_completion_request(const nlohmann::ordered_json& body, const RequestDefaults& defaults);

}  // namespace colugo
