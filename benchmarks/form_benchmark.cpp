// What holding a reply to a form costs, as a share of the time that decoding it takes: of the first reply to a schema,
// and of those after it, which find states and masks there.
//
//     form_benchmark [--model DIR] [--threads N] [--spec off|auto] [--tokens N] [--replies N]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/engine.h"
#include "engine/model_text.h"
#include "sampling/grammar_cache.h"
#include "sampling/reply_grammar.h"

namespace colugo {
namespace {

struct Options {
    std::string model = COLUGO_SOURCE_DIR "/models/nano", spec = "off";
    int threads = 2, replies = 8;
    int64_t tokens = 200;
};

struct Form {
    const char* name;
    const char* schema;  // nullptr: any object
};

constexpr Form kForms[] = {
    {"a review", R"({"type": "object", "properties": {
        "path": {"type": "string"}, "summary": {"type": "string", "maxLength": 400}, "line": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["bug", "style", "question"]}, "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z-]{1,20}$"}}},
        "required": ["path", "summary", "line", "kind", "tags"], "additionalProperties": false})"},
    {"patterns", R"({"type": "array", "minItems": 100, "items": {"type": "object", "properties": {
        "name": {"type": "string", "pattern": "^[A-Z].{3,40}[.!?]$"}, "mail": {"type": "string", "format": "email"},
        "at": {"type": "string", "format": "date-time"}}, "required": ["name", "mail", "at"]}})"},
    {"alternatives", R"({"type": "array", "minItems": 100, "items": {"anyOf": [
        {"type": "object", "properties": {"op": {"const": "read"}, "file": {"type": "string", "minLength": 1}}, "required": ["op", "file"]},
        {"type": "object", "properties": {"op": {"const": "write"}, "file": {"type": "string"}, "text": {"type": "string"}}, "required": ["op", "file", "text"]},
        {"type": "object", "properties": {"op": {"const": "wait"}, "seconds": {"type": "number"}}, "required": ["op", "seconds"]}]}})"},
    {"any object", nullptr},
};

class Listener : public RequestListener {
 public:
    void token(const DrawnToken&) override {}
    void finished(const RequestResult& finished_result) override { result = finished_result; }
    RequestResult result;
};

class FormBenchmark {
 public:
    explicit FormBenchmark(const Options& options) : options_(options), text_(options.model) {
        LaunchOptions launch;
        launch.model = options.model;
        launch.threads = options.threads;
        launch.ctx_size = 4096;
        launch.cache_bytes = uint64_t{1} << 29;
        launch.spec.mode = spec_mode(options.spec).value();
        launch.with_mtp = launch.spec.mode != SpecMode::off;
        model_ = std::make_unique<LoadedModel>(launch);
        engine_ = std::make_unique<Engine>(*model_, text_.token_mask(model_->config()));
    }

    void run() {
        const Tokenizer& tokenizer = text_.tokenizer();
        const auto vocabulary =
            std::make_shared<const GrammarVocabulary>(model_->config().vocab_size, [&](int32_t id) -> VocabularyToken {
                return {.bytes = tokenizer.token_bytes(id), .control = tokenizer.is_control(id)};
            });
        const std::vector<int32_t> ends = text_.stop_ids(model_->config());
        GrammarCache cache(vocabulary, ends, int64_t{1} << 26);
        for (const Form& form : kForms) {
            const auto grammar = cache.get(form.name, [&] {
                return form.schema != nullptr ? json_schema_grammar(nlohmann::ordered_json::parse(form.schema))
                                              : json_object_grammar();
            });
            Sum first, after;
            for (int i = 0; i < options_.replies; ++i) {
                Request request;
                request.prompt = tokenizer.encode("Fill in the form.", ControlTokens::plain_text);
                request.max_tokens = options_.tokens;
                request.sampling.temperature = 1.0;
                request.sampling.seed = static_cast<uint64_t>(i);
                request.stop_ids = ends;
                request.grammar = grammar;
                (i == 0 ? first : after).add(reply(std::move(request)));
            }
            first.print(form.name, "first reply");
            after.print(form.name, "after it");
        }
    }

 private:
    struct Sum {
        int64_t tokens = 0;
        double decode = 0.0, form = 0.0;
        void add(const RequestResult& result) {
            tokens += result.generated_tokens;
            decode += result.decode_seconds;
            form += result.form_seconds;
        }
        void print(const char* name, const char* which) const {
            const auto count = static_cast<double>(tokens);
            fmt::print("{:14}{:12} {:6} tokens  {:8.0f} us a token  {:7.1f} us for the form  {:5.2f} %\n", name, which,
                       tokens, 1e6 * decode / count, 1e6 * form / count, 100.0 * form / decode);
        }
    };

    RequestResult reply(Request request) {
        const auto listener = std::make_shared<Listener>();
        engine_->submit(std::move(request), listener);
        while (engine_->step()) {
        }
        return listener->result;
    }

    Options options_;
    ModelText text_;
    std::unique_ptr<LoadedModel> model_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace
}  // namespace colugo

int main(int argc, char** argv) {
    colugo::Options options;
    CLI::App app("Times the forms of replies beside decoding.");
    app.add_option("--model", options.model, "A checkpoint folder")->capture_default_str();
    app.add_option("--threads", options.threads)->capture_default_str();
    app.add_option("--spec", options.spec)->capture_default_str();
    app.add_option("--tokens", options.tokens, "Of a reply, at most")->capture_default_str();
    app.add_option("--replies", options.replies)->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        colugo::FormBenchmark(options).run();
    } catch (const colugo::Error& error) {
        fmt::print(stderr, "form_benchmark: {}\n", error.what());
        return 1;
    }
    return 0;
}
