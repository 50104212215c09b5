#include "engine/request.h"

#include <algorithm>

#include "text/stop_strings.h"

namespace colugo {

namespace {

void check_ids(const char* name, std::span<const int32_t> tokens, int64_t vocab_size) {
    for (const int32_t token : tokens) {
        if (token >= 0 && token < vocab_size) continue;
        fail(ErrorCode::invalid_argument, "the {} has the token {}; the model's vocabulary has ids 0 to {}", name,
             token, vocab_size - 1);
    }
}

void check_replay(const Request& request, int64_t vocab_size) {
    const Replay& replay = *request.replay;
    check_ids("replay", replay.tokens, vocab_size);
    const std::vector<int32_t>& stops = request.stop_ids;
    if (replay.tokens.empty() || std::find(stops.begin(), stops.end(), replay.tokens.back()) == stops.end()) {
        fail(ErrorCode::invalid_argument, "the replay does not end; expected a stop id as its last token");
    }
    if (replay.head_acceptance.empty()) {
        fail(ErrorCode::invalid_argument, "the replay says nothing of the head; expected an acceptance at least");
    }
}

}  // namespace

const char* finish_reason_name(FinishReason reason) {
    switch (reason) {
        case FinishReason::stop:
            return "stop";
        case FinishReason::length:
            return "length";
        case FinishReason::context:
            return "context";
        case FinishReason::cancelled:
            return "cancelled";
        case FinishReason::failed:
            return "failed";
    }
    return "unknown";
}

void check_request(const Request& request, int64_t vocab_size, int64_t ctx_size) {
    const auto prompt_len = static_cast<int64_t>(request.prompt.size());
    check_sampling_params(request.sampling, vocab_size);
    if (request.spec) check_spec_params(*request.spec);
    if (prompt_len == 0) fail(ErrorCode::invalid_argument, "the prompt is empty; expected at least one token");
    check_ids("prompt", request.prompt, vocab_size);
    check_ids("prediction", request.prediction, vocab_size);
    if (request.replay) check_replay(request, vocab_size);
    if (request.max_tokens < -1) {
        fail(ErrorCode::invalid_argument, "the number of new tokens is {}; expected 0 or more, or -1 for no limit",
             request.max_tokens);
    }
    if (request.top_logprobs < -1 || request.top_logprobs > kMostTopLogprobs) {
        fail(ErrorCode::invalid_argument, "the number of top log-probabilities is {}; expected 0 to {}, or -1 for none",
             request.top_logprobs, kMostTopLogprobs);
    }
    StopStrings(request.stop_strings);  // says what is wrong with them
    const int64_t room = ctx_size - prompt_len;
    if (room < 0 || (room == 0 && request.max_tokens != 0)) {
        fail(ErrorCode::resource_exhausted, "the prompt has {} tokens, which leaves no room in a context of {}",
             prompt_len, ctx_size);
    }
}

}  // namespace colugo
