// colugo run: a prompt to text.
#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "cli/checkpoint_folder.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/logits_file.h"
#include "cli/model_flags.h"
#include "cli/model_loading.h"
#include "cli/progress_bar.h"
#include "cli/run_figures.h"
#include "cli/run_prompt.h"
#include "cli/sampling_flags.h"
#include "cli/text_output.h"
#include "cli/whole_number.h"
#include "engine/engine.h"
#include "engine/model_text.h"
#include "text/detokenizer.h"

namespace colugo {

namespace {

// What is known to be asked before any weight is read.
struct Job {
    Request request;
    TokenMask tokens{0, false};
};

// Writes what the engine gives out as it comes.
class Printer : public RequestListener {
 public:
    // tokenizer: nullptr for token ids, or nothing where those are not wanted either. logits: nullptr or where they go.
    Printer(const Tokenizer* tokenizer, bool print_ids, LogitsFile* logits) : print_ids_(print_ids), logits_(logits) {
        if (tokenizer != nullptr) detokenizer_.emplace(*tokenizer);
    }

    void prefilled(int64_t done, int64_t total) override {
        bar_.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
    }
    void logits(int64_t, TensorView rows) override {
        keep_error([&] { logits_->append(rows); });
    }
    void token(const DrawnToken& drawn) override {
        const int32_t token = drawn.token;
        bar_.finish();
        std::string text;
        if (print_ids_) {
            text = fmt::format("{}{}", printed_ ? "," : "", token);
        } else if (detokenizer_) {
            detokenizer_->feed(token, text);
        }
        printed_ = true;
        print(text);
    }
    void finished(const RequestResult& result) override {
        bar_.finish();
        result_ = result;
        std::string text;
        if (detokenizer_) detokenizer_->flush(text);
        if (printed_ && (print_ids_ || detokenizer_)) print(text + "\n");
    }

    // Nobody reads any more, or something cannot be written.
    bool closed() const { return closed_; }
    // Once it is finished. Throws what could not be thrown at the engine.
    const std::optional<RequestResult>& result() const {
        if (result_ && error_) throw Error(*error_);
        return result_;
    }

 private:
    void print(std::string_view text) {
        keep_error([&] { closed_ = closed_ || !write_output(text); });
    }
    template <typename Body>
    void keep_error(Body body) {
        try {
            if (!error_) body();
        } catch (const Error& error) {
            error_ = error;
            closed_ = true;
        }
    }

    bool print_ids_;
    LogitsFile* logits_;
    std::optional<Detokenizer> detokenizer_;
    ProgressBar bar_{"reading the prompt"};
    bool printed_ = false;
    bool closed_ = false;
    std::optional<Error> error_;
    std::optional<RequestResult> result_;
};

class RunCommand {
 public:
    explicit RunCommand(CLI::App& app);
    Outcome execute();

 private:
    void prepare(Job& job, const ModelText& text, const ModelConfig& config) const;
    Outcome print_prompt(const ModelText& text) const;
    RequestResult generate(LoadedModel& model, const ModelText& text, Job& job, LogitsFile* logits) const;

    std::string model_ = "nano";
    PromptFlags prompt_;
    ModelFlags model_flags_;
    std::optional<int64_t> max_tokens_;
    SamplingFlags sampling_;
    bool print_ids_ = false;
    bool print_prompt_ = false;
    std::string logits_;
    bool json_ = false;
};

RunCommand::RunCommand(CLI::App& app) : prompt_(app), model_flags_(app) {
    app.add_option("-m,--model", model_, "The checkpoint's folder, or a model that comes with colugo")
        ->type_name("DIR")
        ->capture_default_str();
    app.add_option("-n,--predict,--n-predict", max_tokens_,
                   "New tokens at most; -1: to the end of the context (default -1, and 0 with --logits)")
        ->check(whole_number(-1, int64_t{1} << 31));
    sampling_.add(app);
    app.add_flag("--print-ids", print_ids_, "Print the new tokens' ids instead of their text");
    app.add_flag("--print-prompt", print_prompt_, "Print the prompt as the model reads it, and load no weights");
    app.add_option("--logits", logits_,
                   "Write the raw logits of every position to a file: little-endian f32 [positions, vocab_size]")
        ->type_name("FILE");
    app.add_flag("--json", json_, "Write the figures to standard error as one JSON object");
    model_flags_.add_threads(app);
    model_flags_.add_ubatch_size(app);
    model_flags_.add_spec(app);
}

void RunCommand::prepare(Job& job, const ModelText& text, const ModelConfig& config) const {
    job.request.sampling = sampling_.params(text, config.vocab_size);
    job.request.prompt = prompt_.is_ids() ? prompt_.ids() : text.encode(prompt_.render(text));
    const bool needs_tokenizer = !prompt_.is_ids() || (!print_ids_ && logits_.empty());
    if (needs_tokenizer) static_cast<void>(text.tokenizer());  // its absence shows
    print_notices(text.notices(config));
    job.request.stop_ids = text.stop_ids(config);
    job.request.wants_logits = !logits_.empty();
    job.tokens = text.token_mask(config);
    job.request.max_tokens = max_tokens_.value_or(logits_.empty() ? -1 : 0);
    const int64_t ctx_size = model_flags_.launch_options(model_).ctx_size;
    check_request(job.request, config.vocab_size, ctx_size > 0 ? ctx_size : config.max_position_embeddings);
}

Outcome RunCommand::print_prompt(const ModelText& text) const {
    const RenderedPrompt prompt = prompt_.render(text);
    if (print_ids_) {
        write_output(fmt::format("{}\n", fmt::join(text.encode(prompt), ",")));
    } else {
        write_output(prompt.text);
    }
    return Outcome::success;
}

RequestResult RunCommand::generate(LoadedModel& model, const ModelText& text, Job& job, LogitsFile* logits) const {
    const bool print_text = !print_ids_ && text.has_tokenizer();
    const auto printer = std::make_shared<Printer>(print_text ? &text.tokenizer() : nullptr, print_ids_, logits);
    Engine engine(model, job.tokens);
    const RequestId id = engine.submit(std::move(job.request), printer);
    while (!printer->result()) {
        engine.step();
        if (interrupted() || printer->closed()) engine.cancel(id);
    }
    const RequestResult& result = *printer->result();
    if (result.error) throw Error(*result.error);
    const bool cancelled = result.finish == FinishReason::cancelled;
    if (logits != nullptr && cancelled && !interrupted()) {
        fail(ErrorCode::io, "{} is not written: standard output was closed before the run was complete", logits_);
    }
    if (logits != nullptr && !cancelled) logits->publish();
    return result;
}

Outcome RunCommand::execute() {
    prompt_.check();
    if (print_prompt_ && prompt_.is_ids()) {
        throw CLI::ValidationError("--print-prompt", "goes with a prompt of text");
    }
    model_ = checkpoint_folder(model_);
    if (print_prompt_) return print_prompt(ModelText(model_, prompt_.chat_template_path()));

    const ModelConfig config = read_model_config(model_);  // what is no checkpoint shows at once
    const ModelText text(model_, prompt_.chat_template_path());
    Job job;
    prepare(job, text, config);
    std::optional<LogitsFile> logits;
    if (!logits_.empty()) logits.emplace(logits_);

    RunFigures figures;
    const auto start = std::chrono::steady_clock::now();
    const std::unique_ptr<LoadedModel> model = load_model(model_flags_.launch_options(model_));
    figures.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const SamplingParams params = job.request.sampling;
    figures.result = generate(*model, text, job, logits ? &*logits : nullptr);
    if (params.temperature > 0.0 && figures.result.generated_tokens > 0) figures.seed = params.seed;
    write_note((json_ ? figures.json(*model) : figures.line()) + "\n");
    return interrupted() ? Outcome::interrupted : Outcome::success;
}

}  // namespace

Command add_run_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("run", "Generate text from a prompt");
    auto command = std::make_shared<RunCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
