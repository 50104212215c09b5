// colugo chat: a conversation at a terminal, on one engine that keeps what it has read.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/chat_session.h"
#include "cli/checkpoint_folder.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/model_flags.h"
#include "cli/model_loading.h"
#include "cli/progress_bar.h"
#include "cli/reply_stream.h"
#include "cli/sampling_flags.h"
#include "cli/template_flags.h"
#include "cli/text_output.h"
#include "cli/whole_number.h"
#include "engine/branch_points.h"
#include "engine/engine.h"
#include "text/detokenizer.h"
#include "text/reply_reader.h"
#include "text/terminal_text.h"

namespace colugo {

namespace {

constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kPlain = "\033[0m";

// To standard error: standard output has the replies and nothing else.
void say(std::string_view text) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    write_note(terminal ? fmt::format("{}{}{}\n", kDim, text, kPlain) : fmt::format("{}\n", text));
}

// Takes a reply in as it comes, and shows it: on a terminal thoughts are dim, else it is what the model wrote.
class ReplyPrinter {
 public:
    ReplyPrinter(const Tokenizer& tokenizer, OutputParser::Thought thought)
        : reader_(tokenizer, {.thought = thought}), text_(tokenizer) {}

    void feed(int32_t token) {
        reader_.feed(token, 0, pieces_);
        std::string text;
        text_.feed(token, text);
        show(text);
    }
    void finish(bool cut) {
        reader_.finish(0, cut, pieces_);
        std::string text;
        text_.flush(text);
        show(text);
        if (reader_.parser().has_thought() && !reply_.reasoning) reply_.reasoning = "";
        if (printed_) print("\n");
    }
    // Nobody reads any more.
    bool closed() const { return closed_; }
    const Reply& reply() const { return reply_; }

 private:
    void show(std::string_view text) {
        if (!terminal_) print(text);
        for (const ReplyPiece& piece : pieces_) {
            const bool is_thought = piece.kind == ReplyPiece::Kind::reasoning;
            if (terminal_ && !is_thought && reply_.content.empty() && reply_.reasoning) print("\n\n");
            if (is_thought && !reply_.reasoning) reply_.reasoning = "";
            (is_thought ? *reply_.reasoning : reply_.content) += piece.text;
            if (terminal_) print(is_thought ? fmt::format("{}{}{}", kDim, piece.text, kPlain) : piece.text);
        }
        pieces_.clear();
    }
    void print(std::string_view text) {
        if (text.empty()) return;
        printed_ = true;
        closed_ = closed_ || !write_output(text);
    }

    bool terminal_ = isatty(STDOUT_FILENO) == 1;
    ReplyReader reader_;
    Detokenizer text_;
    std::vector<ReplyPiece> pieces_;
    Reply reply_;
    bool printed_ = false, closed_ = false;
};

std::string reply_line(const RequestResult& result, const SamplingParams& sampling) {
    std::string line =
        fmt::format("cached {} of {} prompt tokens, prefilled {} at {:.1f} tok/s, {} new at {:.2f} tok/s",
                    result.cached_tokens, result.prompt_tokens, result.prompt_tokens - result.cached_tokens,
                    result.prefill_tokens_per_second(), result.generated_tokens, result.generated_tokens_per_second());
    if (result.finish != FinishReason::stop) line += fmt::format("; {}", finish_reason_name(result.finish));
    if (sampling.temperature > 0.0) line += fmt::format("; seed {}", sampling.seed);
    return line;
}

// The conversation, once the model is there.
class Chat {
 public:
    // Runs the engine while it lives. base: of every request, which gets its prompt here, and a seed one higher than
    // the last one's.
    Chat(Engine& engine, const ModelText& text, const TemplateFlags& flags, Request base, ChatSession session)
        : engine_(engine), text_(text), flags_(flags), base_(std::move(base)), session_(std::move(session)) {}

    Outcome run();

 private:
    // False when it was not done; then the reason has been told.
    template <typename Body>
    bool attempt(Body body) {
        try {
            body();
            return true;
        } catch (const Error& error) {
            write_note(fmt::format("colugo: {}\n", on_one_line(error.what())));
            failed_ = true;
            return false;
        }
    }
    // False: the conversation is over.
    bool obey(const std::string& line);
    void reply();
    RequestResult follow(RequestId id, ReplyStream& stream, ReplyPrinter& printer);
    void settle(const RequestResult& result, const SamplingParams& sampling, const Reply& reply);
    void tell_stats() const;

    Engine& engine_;
    const ModelText& text_;
    const TemplateFlags& flags_;
    Request base_;
    ChatSession session_;
    LineReader lines_;
    RequestResult totals_;  // sums over all requests, of which there were:
    int64_t requests_ = 0;
    bool failed_ = false;
    bool closed_ = false;  // standard output
    EngineThread thread_{engine_};
};

Outcome Chat::run() {
    if (lines_.interactive()) say("/help tells the commands");
    std::string line;
    for (bool warned = false; !closed_;) {
        const LineReader::Status status = lines_.read(line);
        if (status == LineReader::Status::end) break;
        if (status == LineReader::Status::interrupted) {
            if (!lines_.interactive()) return Outcome::interrupted;
            take_interrupt();
            if (warned || interrupted()) return Outcome::interrupted;
            say("another Ctrl-C ends the conversation");
            warned = true;
            continue;
        }
        warned = false;
        if (!obey(line)) break;
        if (lines_.interactive()) take_interrupt();  // it has ended the reply
        if (interrupted()) return Outcome::interrupted;
    }
    return failed_ && !lines_.interactive() ? Outcome::failed : Outcome::success;
}

bool Chat::obey(const std::string& typed) {
    ChatLine line;
    if (typed.find_first_not_of(" \t\n") == std::string::npos) return true;
    if (!attempt([&] { line = parse_chat_line(typed); })) return true;
    switch (line.action) {
        case ChatAction::message:
            session_.ask(line.text);
            reply();
            break;
        case ChatAction::retry:
            if (attempt([&] { session_.ask_again(); })) reply();
            break;
        case ChatAction::undo:
            if (attempt([&] { session_.undo(); })) {
                say(fmt::format("the last exchange is dropped; {} left", session_.exchanges()));
            }
            break;
        case ChatAction::system:
            session_.begin(line.text);
            say(line.text.empty() ? "a new conversation, without a system message"
                                  : "a new conversation, with this system message");
            break;
        case ChatAction::reset:
            session_.reset();
            say("a new conversation");
            break;
        case ChatAction::save:
            if (attempt([&] { session_.save(line.text); })) say(fmt::format("saved to {}", on_one_line(line.text)));
            break;
        case ChatAction::stats:
            tell_stats();
            break;
        case ChatAction::help:
            write_note(chat_help());
            break;
        case ChatAction::quit:
            return false;
    }
    return true;
}

void Chat::reply() {
    const auto stream = std::make_shared<ReplyStream>();
    Request request = base_;
    std::optional<ReplyPrinter> printer;
    RequestId id = 0;
    const bool submitted = attempt([&] {
        ChatInput input = session_.input();
        flags_.apply(input, text_);
        request.prompt = text_.encode(text_.render(input));
        request.branch_points = branch_points(text_, input, request.prompt);
        const bool may_think = text_.template_mentions("enable_thinking", input);
        printer.emplace(text_.tokenizer(), thought_behind(text_.tokenizer(), request.prompt, may_think));
        id = engine_.submit(request, stream);
    });
    if (!submitted) return session_.give_up();
    ++requests_;
    ++base_.sampling.seed;  // asked again, it may answer otherwise
    const RequestResult result = follow(id, *stream, *printer);
    settle(result, request.sampling, printer->reply());
}

// Shows the reply until it has ended.
RequestResult Chat::follow(RequestId id, ReplyStream& stream, ReplyPrinter& printer) {
    constexpr auto kGlance = std::chrono::milliseconds(50);
    ProgressBar bar("reading the prompt");
    bool begun = false, cancelled = false;
    std::optional<RequestResult> result;
    while (!result) {
        const ReplyStream::News news = stream.wait(kGlance);
        result = news.result;
        begun = begun || !news.tokens.empty() || result;
        if (begun) {
            bar.finish();
        } else {
            bar.update(static_cast<uint64_t>(news.prefilled), static_cast<uint64_t>(news.prompt_tokens));
        }
        for (const int32_t token : news.tokens) printer.feed(token);
        if (result || cancelled || !(interrupted() || printer.closed())) continue;
        engine_.cancel(id);
        cancelled = true;
    }
    printer.finish(result->finish != FinishReason::stop);
    closed_ = printer.closed();
    return *result;
}

// Takes the reply into the conversation, and tells what it took.
void Chat::settle(const RequestResult& result, const SamplingParams& sampling, const Reply& reply) {
    totals_.prompt_tokens += result.prompt_tokens;
    totals_.cached_tokens += result.cached_tokens;
    totals_.generated_tokens += result.generated_tokens;
    totals_.prefill_seconds += result.prefill_seconds;
    totals_.decode_seconds += result.decode_seconds;
    if (result.finish == FinishReason::failed ||
        (result.finish == FinishReason::cancelled && result.generated_tokens == 0)) {
        session_.give_up();
    } else {
        session_.answer(reply);
    }
    attempt([&] {
        if (result.error) throw Error(*result.error);
    });
    say(reply_line(result, sampling));
}

void Chat::tell_stats() const {
    // The engine publishes its figures at the end of a step, a moment after it has told the end of a reply.
    while (engine_.metrics().finished < requests_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const EngineMetrics metrics = engine_.metrics();
    say(fmt::format("{}: {} prompt tokens, {} cached, {} prefilled at {:.1f} tok/s; {} generated at {:.2f} tok/s",
                    requests_ == 1 ? "1 reply" : fmt::format("{} replies", requests_), totals_.prompt_tokens,
                    totals_.cached_tokens, totals_.prompt_tokens - totals_.cached_tokens,
                    totals_.prefill_tokens_per_second(), totals_.generated_tokens,
                    totals_.generated_tokens_per_second()));
    say(fmt::format("cache: {} of {}, {} and {}; {} taken, {} evicted", bytes_text(metrics.used_bytes),
                    bytes_text(metrics.cache_bytes), count_text(static_cast<uint64_t>(metrics.pages), "page"),
                    count_text(static_cast<uint64_t>(metrics.snapshots), "snapshot"), metrics.cache.snapshots_taken,
                    metrics.cache.evictions));
}

class ChatCommand {
 public:
    explicit ChatCommand(CLI::App& app);
    Outcome execute();

 private:
    std::string model_ = "nano";
    std::string system_;
    int64_t max_tokens_ = -1;
    SamplingFlags sampling_;
    TemplateFlags template_;
    ModelFlags model_flags_;
};

ChatCommand::ChatCommand(CLI::App& app) : model_flags_(app) {
    app.add_option("-m,--model", model_, "The checkpoint's folder, or a model that comes with colugo")
        ->type_name("DIR")
        ->capture_default_str();
    app.add_option("--system", system_, "A system message to begin with")->configurable(false);
    app.add_option("-n,--predict,--n-predict", max_tokens_,
                   "New tokens of a reply at most; -1: to the end of the context")
        ->check(whole_number(-1, int64_t{1} << 31))
        ->capture_default_str();
    sampling_.add(app);
    template_.add(app);
    model_flags_.add_threads(app);
    model_flags_.add_ubatch_size(app);
    model_flags_.add_spec(app);
    model_flags_.add_cache(app);
}

std::string start_line(const std::string& name, const MemoryPlan& plan) {
    const uint64_t rest = plan.cache_bytes - std::min(plan.cache_bytes, plan.least_cache_bytes(1));
    return fmt::format("{}: context {} tokens; cache holds {} tokens, or a full context and {} ({})", on_one_line(name),
                       plan.ctx_size, plan.cached_tokens(), count_text(rest / plan.format.snapshot_bytes(), "snapshot"),
                       bytes_text(plan.cache_bytes));
}

Outcome ChatCommand::execute() {
    model_ = checkpoint_folder(model_);
    const ModelConfig config = read_model_config(model_);  // what is no checkpoint shows at once
    const ModelText text(model_, template_.template_path());
    ChatSession session(system_);
    session.ask("a question");
    ChatInput input = session.input();
    template_.apply(input, text);
    static_cast<void>(text.encode(text.render(std::move(input))));  // so does what cannot be talked to
    print_notices(text.notices(config));

    Request base;
    base.sampling = sampling_.params(text, config.vocab_size);
    base.max_tokens = max_tokens_;
    base.stop_ids = text.stop_ids(config);
    const TokenMask tokens = text.token_mask(config);
    const std::unique_ptr<LoadedModel> model = load_model(model_flags_.launch_options(model_));
    say(start_line(model_, model->plan()));
    catch_every_interrupt();
    Engine engine(*model, tokens, model_flags_.engine_options());
    session.give_up();
    return Chat(engine, text, template_, std::move(base), std::move(session)).run();
}

}  // namespace

Command add_chat_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("chat", "Talk with a model, a line at a time");
    auto command = std::make_shared<ChatCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
