// What a request says about how its reply is generated, in chat and in plain completions alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sampling/sampling_params.h"
#include "server/request_fields.h"
#include "server/response_format.h"
#include "spec/spec_params.h"

namespace colugo {

// What a launch brings to every request.
struct RequestDefaults {
    SamplingParams sampling = {};  // the checkpoint's
    SpecParams spec = {};          // what the launch allows
    int64_t vocab_size = 0;
    std::optional<bool> thinking = {};  // absent: as the template has it
    bool cache_keys = true;             // prompt_cache_key keeps caches apart; else only cache_salt does
    // Where replay_output is taken: how often the head is right, as Replay has it. Empty: it is refused.
    std::vector<double> replay_acceptance = {};
    // Lines "NAME: ..." at the very beginning of the system text that are left out: some clients put one there that is
    // another in each request, which would make every prompt a new one. Without regard to case.
    std::vector<std::string> dropped_headers = {"x-anthropic-billing-header"};
};

struct GenerationFields {
    std::string model = {};        // empty: whichever is served
    int64_t max_tokens = -1;       // new tokens; -1: no limit but the context
    SamplingParams sampling = {};  // all but the seed
    std::optional<uint64_t> seed = {};
    std::vector<std::string> stop = {};
    int top_logprobs = -1;  // as in Request
    bool stream = false;
    bool include_usage = false;  // in a last chunk of the stream
    ResponseFormat response_format = {};
    std::optional<SpecParams> speculation = {};
    std::string prediction = {};
    std::string cache_scope = {};  // as in Request
    int priority = 0;
};

// Reads all but logprobs, whose form is another in each of the two. Throws ApiError (400).
GenerationFields read_generation_fields(RequestFields& fields, const RequestDefaults& defaults);

// Looks at the known fields that nothing is made of: those that have no part in the reply may say anything, of the rest
// each must have the value that asks for nothing. Throws ApiError (400) naming the field.
void check_neutral_fields(RequestFields& fields);

}  // namespace colugo
