#include "engine/generation.h"

#include <algorithm>
#include <chrono>

namespace colugo {

namespace {

constexpr int kLogitRows = 16;  // of one call, where all rows are wanted

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
    }
    return "unknown";
}

void check_request(const GenerationRequest& request, int64_t vocab_size, int64_t ctx_size) {
    const auto prompt_len = static_cast<int64_t>(request.prompt.size());
    check_sampling_params(request.sampling, vocab_size);
    if (prompt_len == 0) fail(ErrorCode::invalid_argument, "the prompt is empty; expected at least one token");
    for (const int32_t token : request.prompt) {
        if (token < 0 || token >= vocab_size) {
            fail(ErrorCode::invalid_argument, "the prompt has the token {}; the model's vocabulary has ids 0 to {}",
                 token, vocab_size - 1);
        }
    }
    if (request.max_tokens < -1) {
        fail(ErrorCode::invalid_argument, "the number of new tokens is {}; expected 0 or more, or -1 for no limit",
             request.max_tokens);
    }
    const int64_t room = ctx_size - prompt_len;
    if (room < 0 || (room == 0 && request.max_tokens != 0)) {
        fail(ErrorCode::resource_exhausted, "the prompt has {} tokens, which leaves no room in a context of {}",
             prompt_len, ctx_size);
    }
}

// A sequence's state and the pages it was granted.
class Generator::Sequence {
 public:
    Sequence(const ModelConfig& config, PagePool& pages) : state(config), history(config.vocab_size), pages_(pages) {}
    ~Sequence() {
        for (std::byte* page : state.pages) pages_.release(page);
    }
    Sequence(const Sequence&) = delete;
    Sequence& operator=(const Sequence&) = delete;

    void cover(int64_t length) {
        while (state.page_capacity() < length) state.pages.push_back(pages_.grant());
    }

    SequenceState state;
    TokenHistory history;

 private:
    PagePool& pages_;
};

Generator::Generator(LoadedModel& model, TokenMask tokens)
    : model_(model),
      sampler_(std::move(tokens)),
      logits_(static_cast<size_t>(kLogitRows * model.config().vocab_size) * sizeof(float)) {
    COLUGO_CHECK(sampler_.tokens().size() == model.config().vocab_size);
}

std::span<const float> Generator::feed(Sequence& sequence, std::span<const int32_t> tokens, bool want_logits,
                                       const GenerationCallbacks& callbacks) {
    const int64_t first_position = sequence.state.length;
    const auto count = static_cast<int32_t>(tokens.size());
    const int64_t vocab_size = model_.config().vocab_size;
    sequence.cover(first_position + count);
    const SequenceRows batch[] = {{&sequence.state, tokens}};
    model_.model().forward(batch);

    const int32_t first_row = callbacks.logits ? 0 : count - 1;
    int32_t last_in_buffer = 0;
    for (int32_t begin = first_row; begin < count && (want_logits || callbacks.logits); begin += kLogitRows) {
        int32_t rows[kLogitRows];
        const int32_t rows_here = std::min(kLogitRows, count - begin);
        for (int32_t i = 0; i < rows_here; ++i) rows[i] = begin + i;
        const TensorView view(logits_.as<float>(), rows_here, vocab_size);
        model_.model().logits(view, std::span(rows).first(static_cast<size_t>(rows_here)));
        if (callbacks.logits) callbacks.logits(first_position + begin, view);
        last_in_buffer = rows_here - 1;
    }
    return {logits_.as<float>() + last_in_buffer * vocab_size, static_cast<size_t>(vocab_size)};
}

FinishReason Generator::decode(Sequence& sequence, const GenerationRequest& request,
                               const GenerationCallbacks& callbacks, std::span<const float> logits,
                               GenerationResult& result) {
    const auto start = std::chrono::steady_clock::now();
    const int64_t room = model_.plan().ctx_size - sequence.state.length;
    const bool context_first = request.max_tokens < 0 || request.max_tokens > room;
    const int64_t limit = context_first ? room : request.max_tokens;
    const FinishReason at_limit = context_first ? FinishReason::context : FinishReason::length;
    while (result.generated_tokens < limit) {
        const int64_t position = sequence.state.length;  // of the token that is drawn, which is not fed yet
        const int32_t token = sampler_.draw(logits, position, request.sampling, sequence.history);
        if (result.ttft_seconds == 0.0) result.ttft_seconds = result.prefill_seconds + seconds_since(start);
        if (std::find(request.stop_ids.begin(), request.stop_ids.end(), token) != request.stop_ids.end()) {
            return FinishReason::stop;
        }
        sequence.history.add_output(token);
        ++result.generated_tokens;
        if (callbacks.token && !callbacks.token(token)) return FinishReason::cancelled;
        if (result.generated_tokens == limit) break;  // nobody asks what comes after
        logits = feed(sequence, std::span(&token, 1), true, callbacks);
        ++result.decode_passes;
        result.decode_seconds = seconds_since(start);
    }
    return at_limit;
}

GenerationResult Generator::run(const GenerationRequest& request, const GenerationCallbacks& callbacks) {
    check_request(request, model_.config().vocab_size, model_.plan().ctx_size);
    const auto start = std::chrono::steady_clock::now();
    GenerationResult result;
    result.weight_bytes_per_pass = model_.weight_bytes_per_pass();
    Sequence sequence(model_.config(), model_.pages());
    sequence.history.add_prompt(request.prompt);

    const auto total = static_cast<int64_t>(request.prompt.size());
    std::span<const float> logits;
    while (sequence.state.length < total) {
        const int64_t begin = sequence.state.length;
        const int64_t count = std::min<int64_t>(model_.model().max_rows(), total - begin);
        const bool last = begin + count == total;
        logits = feed(sequence, request.prompt.subspan(static_cast<size_t>(begin), static_cast<size_t>(count)), last,
                      callbacks);
        result.prompt_tokens = begin + count;
        result.prefill_seconds = seconds_since(start);
        if (callbacks.prefilled && !callbacks.prefilled(begin + count, total)) {
            result.finish = FinishReason::cancelled;
            return result;
        }
    }
    result.finish = decode(sequence, request, callbacks, logits, result);
    return result;
}

}  // namespace colugo
