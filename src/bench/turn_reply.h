// What a server answers to one request: the reply, when its parts came, and what the server tells of its work.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace colugo {

// Absent: the server does not tell.
struct ServerFigures {
    std::optional<int64_t> prompt_tokens = {}, cached_tokens = {}, output_tokens = {};
    std::optional<double> queue_ms = {}, prefill_ms = {}, decode_ms = {}, ttft_ms = {};
    std::optional<int64_t> passes = {}, drafted = {}, accepted = {};

    // From `usage` and `timings` of an answer (null: absent), by the names of OpenAI, llama.cpp and colugo. A server
    // that tells of timings and of no drafts made none.
    void add_usage(const nlohmann::ordered_json& usage);
    void add_timings(const nlohmann::ordered_json& timings);
};

struct TurnReply {
    using Clock = std::chrono::steady_clock;

    std::string content, reasoning;
    nlohmann::ordered_json calls = nlohmann::ordered_json::array();  // OpenAI's form
    std::string finish_reason;
    ServerFigures server;
    Clock::time_point begin, first, end;  // of the request; of anything the model wrote; of the stream
    bool has_first = false;

    double latency_ms() const;
    // Until the first of what the model wrote; absent where it wrote nothing.
    std::optional<double> ttft_ms() const;
    // Between two tokens behind the first; absent where there are less than two, or their number is not told.
    std::optional<double> tpot_ms() const;
};

// Puts a reply together from the events of a stream.
class ReplyAssembler {
 public:
    // Throws Error (invalid_file) where an event is no chunk of a chat's reply, or says that the server failed.
    void add_event(std::string_view data, TurnReply::Clock::time_point now);
    // `[DONE]` has come.
    bool is_done() const { return done_; }
    TurnReply& reply() { return reply_; }

 private:
    void add_delta(const nlohmann::ordered_json& delta, TurnReply::Clock::time_point now);
    bool add_call(const nlohmann::ordered_json& part);

    TurnReply reply_;
    bool done_ = false;
};

}  // namespace colugo
