#include "cli/bench_server.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "bench/json_member.h"
#include "cli/input_text.h"
#include "cli/interrupt.h"
#include "cli/settings_record.h"
#include "cli/text_output.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr double kReadySeconds = 10.0, kEndSeconds = 60.0;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

const CLI::App& root_of(const CLI::App& app) {
    const CLI::App* root = &app;
    while (root->get_parent() != nullptr) root = root->get_parent();
    return *root;
}

// Flags of colugo serve that are the benchmark's own to set, and how.
struct OwnFlag {
    std::string_view name, what;
};
constexpr std::array kOwnFlags = {
    OwnFlag{"-m", "the benchmark's --model names the model, before --"},
    OwnFlag{"--model", "the benchmark's --model names the model, before --"},
    OwnFlag{"--config", "the benchmark's --config names the settings, before --"},
    OwnFlag{"--api-key", "the benchmark's server wants no key"},
    OwnFlag{"--api-key-file", "the benchmark's server wants no key"},
    OwnFlag{"--host", "the benchmark's server listens at 127.0.0.1"},
    OwnFlag{"--port", "the benchmark's server listens at any free port"},
    OwnFlag{"--reasoning", "the benchmark's rules have it off"},
};

// Throws CLI::ValidationError where one of them is among the flags behind --.
void refuse_own_flags(const std::vector<std::string>& flags) {
    for (const std::string& flag : flags) {
        const auto own = std::find_if(kOwnFlags.begin(), kOwnFlags.end(),
                                      [&](const OwnFlag& one) { return flag.substr(0, flag.find('=')) == one.name; });
        if (own == kOwnFlags.end()) continue;
        throw CLI::ValidationError(fmt::format("{} behind --", own->name), std::string(own->what));
    }
}

bool names_parallel(const std::vector<std::string>& flags) {
    return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
        return flag == "-np" || flag == "--parallel" || flag.starts_with("--parallel=");
    });
}

}  // namespace

BenchServer::BenchServer(CLI::App& app) : root_(root_of(app)) {
    app.add_option("--url", url_, "The server to measure: http://HOST:PORT/v1, of any API like OpenAI's");
    app.add_option("-m,--model", model_,
                   "Instead: a checkpoint's folder, or a model that comes with colugo, which is served by a server of "
                   "its own")
        ->type_name("DIR")
        ->capture_default_str()
        ->excludes("--url");
    app.add_option("--served-model", served_model_, "The model's name for the server (default: the first it tells)");
    app.add_option("--api-key-file", api_key_file_, "A file with the server's key (or COLUGO_API_KEY has it)")
        ->type_name("FILE");
    app.add_option("serve-flags", serve_flags_, "Behind --: flags of colugo serve, for a server of its own");
}

std::string BenchServer::read_api_key() const {
    return api_key_file_.empty() ? variable("COLUGO_API_KEY") : read_key_file(api_key_file_);
}

// CLI11 may not be asked for the value of an option that has none: its results are empty then.
std::string BenchServer::settings_file() const {
    const std::vector<std::string> typed = root_.get_config_ptr()->results();
    return typed.empty() ? variable("COLUGO_CONFIG") : typed.front();
}

std::vector<std::string> BenchServer::serve_arguments(int parallel) const {
    refuse_own_flags(serve_flags_);
    // It wants no key, whatever the settings say: what the benchmark knows of keys is for another's server.
    std::vector<std::string> arguments = {"serve", "--api-key", "", "--api-key-file", ""};
    arguments.insert(arguments.end(), {"--model", model_, "--host", "127.0.0.1", "--port", "0", "--reasoning", "off"});
    if (const std::string file = settings_file(); !file.empty()) {
        arguments.insert(arguments.end(), {"--config", file});
    }
    if (parallel > 1 && !names_parallel(serve_flags_) && variable("COLUGO_PARALLEL").empty()) {
        arguments.insert(arguments.end(), {"--parallel", std::to_string(parallel)});
    }
    arguments.insert(arguments.end(), serve_flags_.begin(), serve_flags_.end());
    return arguments;
}

void BenchServer::start(int parallel) {
    if (!url_.empty() && !serve_flags_.empty()) {
        throw CLI::ValidationError(
            "--url", fmt::format("{} is a flag for a server of its own, and none is started", serve_flags_.front()));
    }
    if (url_.empty()) {
        arguments_ = serve_arguments(parallel);
        settings_ = settings_record(settings_file());
        process_ =
            std::make_unique<ServerProcess>(std::filesystem::read_symlink("/proc/self/exe").string(), arguments_);
        url_ = process_->wait_until_serving(interrupted);
        if (interrupted()) throw Interrupted();
    }
    api_key_ = read_api_key();
    const std::unique_ptr<Endpoint> endpoint = connect();
    endpoint->wait_until_ready(kReadySeconds);
    facts_ = endpoint->facts();
    if (!served_model_.empty()) facts_.model = served_model_;
}

std::unique_ptr<Endpoint> BenchServer::connect() const {
    return std::make_unique<Endpoint>(url_, HttpClient::Options{.api_key = api_key_, .should_stop = interrupted});
}

bool BenchServer::is_colugo() const {
    if (url_.empty() || process_) return true;
    const ordered_json& data = member(facts_.models, "data");
    return data.is_array() && !data.empty() && member(data.front(), "owned_by") == "colugo";
}

bool BenchServer::takes_replies() const {
    return !member(member(facts_.props, "simulation"), "replay_acceptance").is_null();
}

ordered_json BenchServer::json() const {
    ordered_json server = {{"url", url_}, {"started_here", process_ != nullptr}, {"model", facts_.model}};
    server["flags"] = process_ ? ordered_json(arguments_) : ordered_json();
    server["settings"] = settings_;
    server["models"] = facts_.models;
    server["props"] = facts_.props;
    server["memory_peak_bytes"] = nullptr;
    if (!process_) return server;
    if (const auto peak = process_->memory_peak_bytes()) server["memory_peak_bytes"] = *peak;
    return server;
}

std::string BenchServer::end() {
    if (!process_) return {};
    process_->end(kEndSeconds);
    std::string log;
    for (const std::string& line : process_->log()) log += line + "\n";
    return log;
}

}  // namespace colugo
