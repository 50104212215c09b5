// The server that a benchmark measures: one that runs already, or one of our own for as long as the benchmark takes.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/endpoint.h"
#include "bench/server_process.h"

namespace colugo {

class BenchServer {
 public:
    explicit BenchServer(CLI::App& app);

    // Starts it, where it is ours, with room for `parallel` requests at a time, and waits until it takes requests. As
    // Endpoint::wait_until_ready and ServerProcess::wait_until_serving; throws Interrupted too, and
    // CLI::ValidationError for flags that do not go together.
    void start(int parallel);
    // A connection to it.
    std::unique_ptr<Endpoint> connect() const;
    // Ours, or one that says so; known of another one when it has been started.
    bool is_colugo() const;
    // It is told what its replies are (colugo serve --replay-acceptance); known when it has been started.
    bool takes_replies() const;
    // Its name for the model, in requests.
    const std::string& model() const { return facts_.model; }
    // What there is to tell of it, its peak of memory so far included.
    nlohmann::ordered_json json() const;
    // Ends it, where it is ours. Returns its log, a line each; empty of another's.
    std::string end();

 private:
    std::vector<std::string> serve_arguments(int parallel) const;
    std::string read_api_key() const;
    std::string settings_file() const;  // of --config, or its variable; empty: none

    const CLI::App& root_;  // knows of --config
    std::string url_, model_ = "nano", served_model_, api_key_file_, api_key_;
    std::vector<std::string> serve_flags_, arguments_;
    nlohmann::ordered_json settings_;  // of a server of our own: settings_record
    std::unique_ptr<ServerProcess> process_;
    ServerFacts facts_;
};

}  // namespace colugo
