// A server of OpenAI's API as the benchmark uses it, on one connection: colugo, llama.cpp's server, vLLM and their
// like.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/http_client.h"
#include "bench/turn_reply.h"

namespace colugo {

// Why a turn has no reply.
struct TurnFailure {
    std::string kind;  // "connect", "closed", "timeout", "protocol", "interrupted", "status" or "stream"
    std::string message;
};

// What a server tells of itself; null where it does not.
struct ServerFacts {
    nlohmann::ordered_json models;  // of GET /v1/models
    nlohmann::ordered_json props;   // of GET /props, less the chat template
    std::string model;              // the first of the models; empty where none is told
};

// Drafts that were verified since the server began, in all.
struct DraftCounters {
    double passes = 0.0;                // that verified any
    std::map<int, double> by_position;  // drafts that were right, by how many tokens are before them in their pass
};

class Endpoint {
 public:
    using Clock = HttpClient::Clock;

    // `url`: with or without /v1 at its end.
    Endpoint(const std::string& url, HttpClient::Options options);

    const HttpUrl& root() const { return root_; }

    // Sends a chat request, which asks for a stream, and reads the reply until `deadline`. On failure `failure` says
    // why, and the reply is what came until then.
    TurnReply chat(const std::string& body, Clock::time_point deadline, std::optional<TurnFailure>& failure);

    // Waits until the server takes requests, `seconds` at most. Throws io where it does not, invalid_argument where it
    // wants a key that it was not given.
    void wait_until_ready(double seconds);
    ServerFacts facts();
    // From GET /metrics, by the names of vLLM and colugo; nothing where the server has none.
    std::optional<DraftCounters> draft_counters();
    // The tokens of a chat request's prompt, where the server tells: from /apply-template (colugo), with /tokenize
    // (llama.cpp), or from /tokenize alone (vLLM).
    std::optional<std::vector<int32_t>> prompt_tokens(const nlohmann::ordered_json& request);

 private:
    // A small request; null where it is not answered with JSON and status 200.
    nlohmann::ordered_json ask(const std::string& path, const nlohmann::ordered_json& body);
    std::optional<HttpClient::Answer> try_get(const std::string& path);

    HttpUrl root_;
    HttpClient client_;
};

}  // namespace colugo
