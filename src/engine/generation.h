// One sequence from prompt to last token: prefill in chunks, then a token a pass.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/loaded_model.h"
#include "sampling/sampler.h"

namespace colugo {

struct GenerationRequest {
    std::span<const int32_t> prompt;  // at least one token
    int64_t max_tokens = -1;          // new tokens; -1: as many as the context holds
    SamplingParams sampling;
    std::span<const int32_t> stop_ids;  // end the text; the one drawn is no part of it
};

// Each may be empty.
struct GenerationCallbacks {
    // After each chunk of the prompt. Returning false ends the generation.
    std::function<bool(int64_t done, int64_t total)> prefilled;
    // Each new token in order. Returning false ends the generation.
    std::function<bool(int32_t token)> token;
    // Raw logits [rows, vocab_size] of positions first_position, first_position + 1, ...: of every position that is
    // fed, in order.
    std::function<void(int64_t first_position, TensorView logits)> logits;
};

enum class FinishReason { stop, length, context, cancelled };

const char* finish_reason_name(FinishReason reason);

struct GenerationResult {
    FinishReason finish = FinishReason::stop;
    int64_t prompt_tokens = 0;     // fed
    int64_t generated_tokens = 0;  // given to the token callback
    int64_t decode_passes = 0;     // of one token each
    double prefill_seconds = 0.0;  // until the logits of the prompt's last token
    double decode_seconds = 0.0;   // the rest
    double ttft_seconds = 0.0;     // until the first token was drawn; 0 when none was
    uint64_t weight_bytes_per_pass = 0;

    double prefill_tokens_per_second() const { return rate(static_cast<double>(prompt_tokens), prefill_seconds); }
    double decode_tokens_per_second() const { return rate(static_cast<double>(decode_passes), decode_seconds); }
    // Of weights, while decoding.
    double decode_bytes_per_second() const {
        return decode_tokens_per_second() * static_cast<double>(weight_bytes_per_pass);
    }

 private:
    static double rate(double amount, double seconds) { return seconds > 0.0 ? amount / seconds : 0.0; }
};

// Throws invalid_argument for a prompt or parameters that cannot be accepted, resource_exhausted when the prompt does
// not fit in a context of ctx_size.
void check_request(const GenerationRequest& request, int64_t vocab_size, int64_t ctx_size);

class Generator {
 public:
    // tokens: the ids that may be drawn.
    Generator(LoadedModel& model, TokenMask tokens);

    // Throws what check_request throws, and invalid_file when a logit is not finite.
    GenerationResult run(const GenerationRequest& request, const GenerationCallbacks& callbacks);

 private:
    class Sequence;

    // Feeds tokens and returns the last one's logits.
    std::span<const float> feed(Sequence& sequence, std::span<const int32_t> tokens, bool want_logits,
                                const GenerationCallbacks& callbacks);
    FinishReason decode(Sequence& sequence, const GenerationRequest& request, const GenerationCallbacks& callbacks,
                        std::span<const float> logits, GenerationResult& result);

    LoadedModel& model_;
    Sampler sampler_;
    Buffer logits_;  // [kLogitRows, vocab_size]
};

}  // namespace colugo
