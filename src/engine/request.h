// What a client asks of the engine, and what it hears back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tensor_view.h"
#include "sampling/logprobs.h"
#include "sampling/sampling_params.h"
#include "sampling/token_grammar.h"
#include "spec/spec_counters.h"
#include "spec/spec_params.h"

namespace colugo {

using RequestId = int64_t;

// A simulation: the reply is this, whatever the model says. It and the head do their work all the same; so measures
// time what has weights that say nothing.
struct Replay {
    std::vector<int32_t> tokens;          // a stop id the last
    std::vector<double> head_acceptance;  // by depth from 1, the last for those beyond: how often the head is right
};

struct Request {
    std::vector<int32_t> prompt;  // at least one token
    int64_t max_tokens = -1;      // new tokens; -1: as many as the context holds
    SamplingParams sampling = {};
    std::vector<int32_t> stop_ids = {};          // end the text; the one drawn is no part of it
    std::vector<std::string> stop_strings = {};  // end it where the first of them begins, in the bytes of its tokens
    int top_logprobs = -1;                       // of each token, besides its own; -1: not even that
    // What the reply may be; null: anything. From submission to the end it is asked on the engine's thread alone; other
    // requests may have the same one. Where it leaves one token, that is given without a pass, unless log-probabilities
    // are wanted.
    std::shared_ptr<TokenGrammar> grammar = {};
    // Positions in the prompt where other conversations are likely to part from it, ascending: snapshots are taken
    // there.
    std::vector<int64_t> branch_points = {};
    std::vector<int32_t> prediction = {};  // what the reply is likely to contain, for drafts by lookup
    std::optional<SpecParams> spec = {};   // how drafts are made, within what the launch allows; absent: as it allows
    // Prefixes are shared, in the cache and while they are read, with requests of the same scope alone; empty: of those
    // that name none.
    std::string cache_scope = {};
    int priority = 0;           // a higher one goes first, and may interrupt a lower one
    bool wants_logits = false;  // of every position
    std::optional<Replay> replay = {};
};

enum class FinishReason { stop, length, context, cancelled, failed };

const char* finish_reason_name(FinishReason reason);

// Throws invalid_argument for a prompt, parameters or stop strings that cannot be accepted, resource_exhausted when the
// prompt does not fit in a context of ctx_size.
void check_request(const Request& request, int64_t vocab_size, int64_t ctx_size);

struct RequestResult {
    FinishReason finish = FinishReason::stop;
    std::optional<Error> error = {};  // why it failed
    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;     // of the prompt, that an earlier snapshot spared
    int64_t matched_tokens = 0;    // of the prompt, that the cache knew when it began, with a snapshot or without
    int64_t fed_tokens = 0;        // rows that were computed, in prefill and decode
    int64_t generated_tokens = 0;  // given to the listener
    int64_t cut_bytes = 0;      // the reply's last bytes that are a stop string, and what its last token has behind it
    int64_t decode_passes = 0;  // that fed a drawn token, and drafts behind it
    SpecCounters drafts = {};   // in these passes
    int64_t preemptions = 0;
    double queue_seconds = 0.0;    // until it was admitted
    double prefill_seconds = 0.0;  // from then until the logits of the prompt's last token
    double decode_seconds = 0.0;   // the rest
    double form_seconds = 0.0;     // spent on what may come next, where it has a grammar
    double ttft_seconds = 0.0;     // from submission until the first token was drawn; 0 when none was
    uint64_t weight_bytes_per_pass = 0;

    double prefill_tokens_per_second() const {
        return rate(static_cast<double>(prompt_tokens - cached_tokens), prefill_seconds);
    }
    // Fed while decoding.
    int64_t decoded_tokens() const { return decode_passes + drafts.all.accepted; }
    double decode_tokens_per_second() const { return rate(static_cast<double>(decoded_tokens()), decode_seconds); }
    // Given to the listener, the first one drawn from the prompt's logits included: what llama.cpp calls predicted.
    double generated_tokens_per_second() const { return rate(static_cast<double>(generated_tokens), decode_seconds); }
    // Of weights, while decoding.
    double decode_bytes_per_second() const {
        return rate(static_cast<double>(decode_passes), decode_seconds) * static_cast<double>(weight_bytes_per_pass);
    }

 private:
    static double rate(double amount, double seconds) { return seconds > 0.0 ? amount / seconds : 0.0; }
};

struct DrawnToken {
    int32_t token;
    // The reply's last bytes, of this token and those before it, that may turn out to begin a stop string.
    int64_t held_bytes;
    // Where the request wants them, and gone with the call.
    float logprob;
    std::span<const TokenLogprob> top_logprobs;  // most likely first
};

// Called on the engine's thread, in this order; must not throw and not wait. What it is given is gone when it returns.
class RequestListener {
 public:
    virtual ~RequestListener() = default;
    // The prompt's tokens known to the model so far, cached ones included.
    virtual void prefilled(int64_t /*done*/, int64_t /*total*/) {}
    // Raw logits [rows, vocab_size] of positions first_position, first_position + 1, ..., in order, where the request
    // wants them.
    virtual void logits(int64_t /*first_position*/, TensorView /*logits*/) {}
    virtual void token(const DrawnToken& drawn) = 0;
    // The last call.
    virtual void finished(const RequestResult& result) = 0;
};

}  // namespace colugo
