// A request's body, from its bytes to the prompt and the form of the reply: whatever it is, it is served or refused
// with 400, and what is accepted is what the template, the tokenizer and the sampler take.
#include "base/error.h"
#include "fuzz/fuzz_input.h"
#include "sampling/sampling_params.h"
#include "server/api_error.h"
#include "server/chat_prompt.h"
#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/json_text.h"
#include "server/reply_form.h"
#include "spec/spec_params.h"
#include "text/tool_types.h"
#include "text/utf8.h"

namespace colugo::fuzz {
namespace {

constexpr size_t kMostSentence = 500;  // bytes of what a client is told

struct Served {
    Tokenizer tokenizer = Tokenizer::from_json(source_file("models/nano/tokenizer.json"), "tokenizer.json");
    ChatTemplate chat_template = ChatTemplate(source_file("models/nano/chat_template.jinja"));
    ReplyForms forms = {tokenizer, tokenizer.id_limit(), {*tokenizer.find("<|im_end|>")}};
    RequestDefaults defaults = {.spec = {SpecMode::tree, 6, 2, 12}, .vocab_size = tokenizer.id_limit()};
};

Served& served() {
    static Served all;
    return all;
}

void check_generation(const GenerationFields& generation) {
    check_sampling_params(generation.sampling, served().defaults.vocab_size);
    if (generation.speculation) check_spec_params(*generation.speculation);
    COLUGO_CHECK(generation.max_tokens >= -1);
    for (const std::string& stop : generation.stop) COLUGO_CHECK(!stop.empty());
}

// Spans are in order and inside; the prompt is UTF-8; what came from the request makes no control token.
void check_prompt(const RenderedPrompt& prompt) {
    std::string storage;
    COLUGO_CHECK(to_valid_utf8(prompt.text, storage).data() == prompt.text.data());
    size_t end = 0;
    for (const TextSpan& span : prompt.content_spans) {
        COLUGO_CHECK(span.begin >= end && span.begin <= span.end);
        end = span.end;
    }
    COLUGO_CHECK(end <= prompt.text.size());
    const Tokenizer& tokenizer = served().tokenizer;
    size_t at = 0;
    auto span = prompt.content_spans.begin();
    // A control token is all in the template's own text. Without normalization tokens lie where their bytes do.
    std::string bytes;
    const std::vector<int32_t> ids = tokenizer.encode(prompt.text, prompt.content_spans);
    for (const int32_t id : ids) bytes += tokenizer.token_bytes(id);
    if (bytes != prompt.text) return;
    for (const int32_t id : ids) {
        const size_t token_end = at + tokenizer.token_bytes(id).size();
        while (span != prompt.content_spans.end() && span->end <= at) ++span;
        const bool in_content =
            span != prompt.content_spans.end() && span->begin < token_end && span->begin < span->end;
        COLUGO_CHECK(!(in_content && tokenizer.is_control(id)));
        at = token_end;
    }
}

void serve_chat(const nlohmann::ordered_json& body) {
    const ChatRequest request = read_chat_request(body, served().defaults);
    check_generation(request.generation);
    COLUGO_CHECK(!request.messages.empty() && request.unknown_fields.size() <= 16);
    tool_types(request.tools.tools);
    const ChatInput input = chat_input(request);
    RenderedPrompt rendered;
    try {
        rendered = served().chat_template.render(input);
    } catch (const Error& error) {
        // The template loops over what the request has: a limit may end it.
        COLUGO_CHECK(error.code() == ErrorCode::resource_exhausted);
        return;
    }
    check_prompt(cut_at_start(rendered, request));
    if (const auto grammar = served().forms.make(request, ReplyForms::Begin::anywhere)) {
        COLUGO_CHECK(grammar->allowed(grammar->start()).count() > 0);
    }
}

void serve(std::string_view text) {
    const nlohmann::ordered_json body = parse_request_body(text);
    COLUGO_CHECK(parse_request_body(body.dump()) == body);
    if (body.contains("prompt")) {
        const CompletionRequest request = read_completion_request(body, served().defaults);
        check_generation(request.generation);
        COLUGO_CHECK(request.prompt.empty() != request.prompt_ids.empty());
        for (const int32_t id : request.prompt_ids) COLUGO_CHECK(id >= 0 && id < served().defaults.vocab_size);
    } else {
        serve_chat(body);
    }
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    try {
        fuzz::serve(fuzz::FuzzInput(data, size).rest());
    } catch (const ApiError& error) {
        COLUGO_CHECK(error.status() == 400);
        COLUGO_CHECK(error.body().dump().size() > 0);
        COLUGO_CHECK(std::string_view(error.what()).size() < fuzz::kMostSentence);
    }
    return 0;
}
