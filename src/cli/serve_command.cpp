// colugo serve: an endpoint of OpenAI's API for one model.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>

#include "cli/checkpoint_folder.h"
#include "cli/client_settings.h"
#include "cli/command.h"
#include "cli/input_text.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/model_loading.h"
#include "cli/progress_bar.h"
#include "cli/sampling_flags.h"
#include "cli/service_notify.h"
#include "cli/template_flags.h"
#include "cli/text_output.h"
#include "cli/whole_number.h"
#include "server/scripted_source.h"
#include "server/serving.h"
#include "server/warm_up.h"
#include "text/terminal_text.h"

namespace colugo {

namespace {

constexpr std::string_view kScripted = "scripted:";

void say(const std::string& sentence) {
    write_note(fmt::format("{}\n", on_one_line(sentence)));
}

void say_launch(const ServedModel& served, const LoadedModel& model, const LaunchOptions& launch) {
    const MemoryPlan& plan = model.plan();
    say(fmt::format(
        "{}: {} tier, {} threads; {} at a time, context {} tokens; weights {}, cache {} for {} tokens in {}",
        served.name, kernels::tier_name(model.tier()), model.threads(),
        count_text(static_cast<uint64_t>(plan.parallel), "request"), plan.ctx_size, bytes_text(plan.weight_bytes),
        bytes_text(plan.cache_bytes), plan.cached_tokens(), kv_type_name(model.kv_type())));
    if (!launch.kv_type && launch.compute != ComputeMode::f32 && kernels::attention_likes_int8(model.tier())) {
        say("behind long contexts --kv-type int8 is faster on this CPU; it rounds keys and values in another way");
    }
}

// What happens while the server is at work. The journal has the time itself.
void say_with_time(const std::string& sentence) {
    static const bool has_time = errors_go_to_journal();
    const std::string line = on_one_line(sentence);
    write_note(has_time ? line + "\n" : fmt::format("{:%H:%M:%S} {}\n", fmt::localtime(std::time(nullptr)), line));
}

bool is_any_address(const std::string& host) {
    return host == "0.0.0.0" || host == "::";
}

// To paste: what most clients of the API read, one agent as an example, and where the others are. key_file: has the
// key, or empty.
void show_client_settings(const ServedEndpoint& endpoint, const std::string& key_file) {
    if (endpoint.wants_key) {
        say("what follows takes the key from COLUGO_API_KEY");
        // A pipe has been read.
        if (std::filesystem::is_regular_file(key_file)) {
            write_note(key_setting(std::filesystem::absolute(key_file).string()));
        }
    }
    for (const char* const client : {"curl", "aider"}) {
        say(fmt::format("for {}:", client));
        write_note(client_settings(client, endpoint).text);
    }
    say(fmt::format("for others: colugo doctor --client NAME --url {} ({})", endpoint.url, client_names()));
}

class ServeCommand {
 public:
    explicit ServeCommand(CLI::App& app);
    Outcome execute();

 private:
    void add_network_options(CLI::App& app);
    std::string read_api_key() const;
    ApiServer::Options api_options(const ModelText& text, const ModelConfig& config) const;
    Outcome serve_model();
    void warm(ReplySource& source, std::vector<WarmPrompt> prompts, int64_t ctx_size) const;
    Outcome serve_script();
    Outcome run(const ModelText& text, const ServedModel& served, ReplySource& source, ApiServer::Options options);

    std::string model_ = "nano";
    std::string alias_, api_key_, api_key_file_, warm_file_;
    std::vector<std::string> cors_origins_;
    bool insecure_ = false;
    ServingOptions serving_;
    int64_t max_body_mib_ = 64, grace_ = 30, ping_ = 10;
    SamplingFlags sampling_;
    std::string cache_keys_ = "separate";
    std::vector<double> replay_acceptance_;
    TemplateFlags template_;
    ModelFlags model_flags_;
};

ServeCommand::ServeCommand(CLI::App& app) : model_flags_(app) {
    app.add_option("-m,--model", model_,
                   "The checkpoint's folder, a model that comes with colugo, or scripted:FILE, replies from a file")
        ->type_name("DIR")
        ->capture_default_str();
    app.add_option("-a,--alias", alias_, "The model's name for clients (default: its folder's)");
    app.add_option("--warm", warm_file_,
                   "A file with the body of a chat request on each line, whose prompts are read before the first one")
        ->type_name("FILE");
    app.add_option(
           "--prompt-cache-key", cache_keys_,
           "What requests' prompt_cache_key does: separate (what is cached is shared under one key alone), ignore")
        ->check(CLI::IsMember({"separate", "ignore"}))
        ->capture_default_str();
    app.add_option(
           "--replay-acceptance", replay_acceptance_,
           "A simulation: requests say what their reply is (replay_output), and the MTP head's drafts are right "
           "so often, by depth, separated by commas")
        ->delimiter(',')
        ->check(CLI::Range(0.0, 1.0));
    add_network_options(app);
    sampling_.add(app);
    template_.add(app);
    model_flags_.add_threads(app);
    model_flags_.add_parallel(app);
    model_flags_.add_ubatch_size(app);
    model_flags_.add_spec(app);
    model_flags_.add_cache(app);
}

void ServeCommand::add_network_options(CLI::App& app) {
    app.add_option("--host", serving_.host, "The address to listen at")->capture_default_str();
    app.add_option("--port", serving_.port, "The port to listen at; 0: any free one")
        ->check(whole_number(0, 65535))
        ->capture_default_str();
    app.add_option("--api-key", api_key_, "What clients have to know; better in a file or COLUGO_API_KEY");
    app.add_option("--api-key-file", api_key_file_, "A file that has it")->type_name("FILE");
    app.add_flag("--insecure", insecure_, "Serve other machines without a key");
    app.add_option(
           "--cors-origin", cors_origins_,
           "Where a browser's page may come from that uses this; *: anywhere; several, with commas between them")
        ->allow_extra_args(false)
        ->delimiter(',');
    app.add_option("--max-body-mib", max_body_mib_, "MiB of a request's body at most")
        ->check(whole_number(1, 4096))
        ->capture_default_str();
    app.add_option("--sse-ping-interval", ping_, "Seconds after which a stream that has nothing to say says so")
        ->check(whole_number(1, 3600))
        ->capture_default_str();
    app.add_option("--grace", grace_, "Seconds that replies have to come to their end when the server ends")
        ->check(whole_number(0, 86400))
        ->capture_default_str();
}

std::string ServeCommand::read_api_key() const {
    const std::string key = read_key_file(api_key_file_);
    if (key.empty()) fail(ErrorCode::invalid_file, "the API key file {} is empty", api_key_file_);
    return key;
}

ApiServer::Options ServeCommand::api_options(const ModelText& text, const ModelConfig& config) const {
    ApiServer::Options options;
    options.defaults.sampling = sampling_.params(text, config.vocab_size);
    options.defaults.vocab_size = config.vocab_size;
    options.defaults.thinking = template_.choice();
    options.defaults.cache_keys = cache_keys_ == "separate";
    options.defaults.replay_acceptance = replay_acceptance_;
    options.seed = sampling_.seed();
    options.api_key = api_key_;
    options.cors_origins = cors_origins_;
    options.keep_alive = std::chrono::seconds(ping_);
    options.log = say_with_time;
    return options;
}

Outcome ServeCommand::execute() {
    serving_.limits.body_bytes = static_cast<uint64_t>(max_body_mib_) << 20;
    serving_.grace = std::chrono::seconds(grace_);
    if (!api_key_file_.empty()) api_key_ = read_api_key();
    if (!warm_file_.empty() && model_.starts_with(kScripted)) {
        throw CLI::ValidationError("--warm", "a script has no cache; expected a model beside it");
    }
    if (!replay_acceptance_.empty() && model_.starts_with(kScripted)) {
        throw CLI::ValidationError("--replay-acceptance",
                                   "a script says its replies itself; expected a model beside it");
    }
    const bool is_loopback = check_listening(serving_.host, serving_.port);  // before a model is read
    if (!is_loopback && api_key_.empty() && !insecure_) {
        throw CLI::ValidationError("--host", fmt::format("{} is open to other machines: expected --api-key-file, or "
                                                         "--insecure to serve them without a key",
                                                         serving_.host));
    }
    try {
        return model_.starts_with(kScripted) ? serve_script() : serve_model();
    } catch (const Interrupted&) {  // while the model or prompts were read: asked for, as an end behind that is
        say("ended before it served");
        return Outcome::success;
    }
}

Outcome ServeCommand::serve_model() {
    model_ = checkpoint_folder(model_);
    const ModelConfig config = read_model_config(model_);  // what is no checkpoint shows at once
    const ModelText text(model_, template_.template_path());
    const TokenMask tokens = text.token_mask(config);
    print_notices(text.notices(config));
    ApiServer::Options options = api_options(text, config);
    std::vector<WarmPrompt> prompts;
    if (!warm_file_.empty()) {  // before a model is read
        const auto lines = read_input_file(warm_file_, std::numeric_limits<uint64_t>::max());
        if (!lines) fail(ErrorCode::not_found, "there is no file {} of prompts to read beforehand", warm_file_);
        prompts = read_warm_lines(*lines, warm_file_, text, options.defaults, text.stop_ids(config));
        if (prompts.empty()) say(fmt::format("{} has no prompt: nothing is read beforehand", warm_file_));
    }
    const LaunchOptions launch = model_flags_.launch_options(model_);
    const std::unique_ptr<LoadedModel> model = load_model(launch);
    const MemoryPlan& plan = model->plan();
    options.defaults.spec = model->spec();
    Engine::Options engine_options = model_flags_.engine_options();
    engine_options.token_bytes = [&text](int32_t token) { return text.tokenizer().token_bytes(token); };
    Engine engine(*model, tokens, std::move(engine_options));
    ServedModel served{.name = alias_.empty() ? std::filesystem::path(model_).filename().string() : alias_,
                       .loaded = std::time(nullptr),
                       .ctx_size = plan.ctx_size,
                       .stop_ids = text.stop_ids(config)};
    served.properties = {{"model", served.name},
                         {"context_length", plan.ctx_size},
                         {"parallel", plan.parallel},
                         {"tier", kernels::tier_name(model->tier())},
                         {"threads", model->threads()},
                         {"weight_bytes", plan.weight_bytes},
                         {"cache_bytes", plan.cache_bytes},
                         {"cached_tokens", plan.cached_tokens()},
                         {"numerics", model->numerics_key()},
                         {"version", COLUGO_VERSION}};
    if (!replay_acceptance_.empty()) {
        served.properties["simulation"] = {{"replay_acceptance", replay_acceptance_}};
        say("A SIMULATION: requests say what their replies are");
    }
    say_launch(served, *model, launch);
    EngineSource source(engine);
    warm(source, std::move(prompts), plan.ctx_size);
    return run(text, served, source, std::move(options));
}

void ServeCommand::warm(ReplySource& source, std::vector<WarmPrompt> prompts, int64_t ctx_size) const {
    if (prompts.empty()) return;
    ProgressBar bar("reading prompts");
    const WarmUp done = warm_up(source, std::move(prompts), ctx_size, [&](uint64_t tokens, uint64_t total) {
        if (interrupted()) throw Interrupted{};
        bar.update(tokens, total);
    });
    bar.finish();
    for (const std::string& note : done.notes) say(fmt::format("{}: {}", warm_file_, note));
    say(fmt::format("{}: {} read, {} tokens, of which {} were there already", warm_file_,
                    count_text(static_cast<uint64_t>(done.prompts), "prompt"), done.tokens, done.cached));
}

// With nano's tokenizer and template.
Outcome ServeCommand::serve_script() {
    const std::string path = model_.substr(kScripted.size());
    const std::string folder = checkpoint_folder("nano");
    const ModelConfig config = read_model_config(folder);
    const ModelText text(folder, template_.template_path());
    const ServedModel served{.name = alias_.empty() ? "scripted" : alias_,
                             .loaded = std::time(nullptr),
                             .ctx_size = config.max_position_embeddings,
                             .stop_ids = text.stop_ids(config),
                             .properties = {{"model", "scripted"}, {"version", COLUGO_VERSION}}};
    ScriptedSource source(read_script(path, text.tokenizer()), text.tokenizer(),
                          {.ctx_size = served.ctx_size, .vocab_size = config.vocab_size});
    say(fmt::format("replies come from {}: there is no model", path));
    ApiServer::Options options = api_options(text, config);
    // A thought that the template begins would make a thought of the reply's text.
    options.defaults.thinking = template_.choice().value_or(false);
    return run(text, served, source, std::move(options));
}

Outcome ServeCommand::run(const ModelText& text, const ServedModel& served, ReplySource& source,
                          ApiServer::Options options) {
    ServedEndpoint endpoint{.model = served.name, .context = served.ctx_size, .wants_key = !options.api_key.empty()};
    ApiServer api(text, served, source, std::move(options));
    catch_every_signal();
    const auto listening = [&](uint16_t port) {
        say(fmt::format("serving {} at {}", served.name, endpoint_url(serving_.host, port)));
        endpoint.url = endpoint_url(is_any_address(serving_.host) ? "127.0.0.1" : serving_.host, port);
        show_client_settings(endpoint, api_key_file_);
        notify_service("READY=1");
    };
    const auto should_stop = [&] {
        if (signals() == 0) return false;
        notify_service("STOPPING=1");
        say(api.active() == 0 ? "ending"
                              : "ending: replies that are being written come to their end; Ctrl-C or another signal "
                                "ends them now");
        return true;
    };
    serve(api, serving_, listening, should_stop, [] { return signals() > 1; });
    return Outcome::success;
}

}  // namespace

Command add_serve_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("serve", "Serve a model by OpenAI's API");
    auto command = std::make_shared<ServeCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
