// The performance phase: recorded conversations asked for turn by turn, each with the recorded history.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/agent_workload.h"
#include "bench/endpoint.h"

namespace colugo {

struct ReplayRules {
    int64_t max_tokens = 1024;  // new ones of a reply
    double temperature = 0.0;
    uint64_t seed = 42;
    double turn_timeout = 600.0;  // seconds, from a request to the end of its reply
    int concurrency = 1;          // conversations at a time
    bool interleave = false;      // these take turns, one request at a time
    bool delays = false;          // wait as long as the recorded tools took
    bool cold = false;            // each request has a cache_salt of its own (colugo, vLLM)
    bool replay_output = false;   // a simulation: the server is told what its replies are (colugo)
    // A simulation: replies have as many tokens as another run's, by conversation and `turn`, whatever ends they have.
    std::map<std::pair<std::string, int64_t>, int64_t> lengths = {};

    nlohmann::ordered_json json() const;
    // The body of a chat request by these rules. `model`: its name; empty: none. `tools`: may be empty.
    nlohmann::ordered_json request(const std::string& model, nlohmann::ordered_json messages,
                                   const nlohmann::ordered_json& tools) const;
    // What of it is simulated, in words; empty: nothing.
    std::string simulation() const;
};

// A request that was made.
struct TurnRecord {
    size_t conversation = 0, turn = 0;  // indices
    double begin_seconds = 0.0;         // of the run
    TurnReply reply = {};
    std::optional<TurnFailure> failure = {};
    std::vector<std::string> expected = {}, got = {};  // programs
    std::optional<double> iou = {};                    // absent where nothing is expected
    std::optional<int64_t> ideal_cached = {};          // tokens; see count_ideal
};

struct ReplayProgress {
    size_t requests = 0, turns = 0;  // done, and in all
    double seconds = 0.0;
    std::optional<int64_t> prompt_tokens, cached_tokens, output_tokens;  // where told
    const AgentConversation* conversation = nullptr;                     // of the last request
    size_t turn = 0;                                                     // its index
};

class AgentReplay {
 public:
    struct Callbacks {
        std::function<std::unique_ptr<Endpoint>()> connect;  // called from several threads
        std::function<bool()> should_stop;                   // likewise
        std::function<void(const ReplayProgress&)> progress = [](const ReplayProgress&) {};  // one at a time
    };
    // `model`: its name in requests; empty: none. All outlive it.
    AgentReplay(const std::vector<AgentConversation>& conversations, const ReplayRules& rules, std::string model,
                Callbacks callbacks);

    // Every request that was made, in the order they were made in. A turn that fails ends its conversation.
    std::vector<TurnRecord> run();
    double seconds() const { return seconds_; }

    // The body of a turn's request.
    nlohmann::ordered_json request(size_t conversation, size_t turn) const;
    // Fills `ideal_cached` of all, from the tokens that the server says the prompts have. Returns why it cannot; empty
    // when it could. `progress` gets the number of prompts that are done.
    std::string count_ideal(std::vector<TurnRecord>& records, const std::function<void(size_t)>& progress);

 private:
    struct Slot;  // a conversation that is being asked for
    void run_alone();
    void run_interleaved();
    std::optional<Slot> next_slot();
    void wait_for_tools(const Slot& slot, double delay) const;
    // False when the conversation has come to its end.
    bool run_turn(Endpoint& endpoint, Slot& slot);
    void keep(TurnRecord record);
    bool should_stop() const { return callbacks_.should_stop && callbacks_.should_stop(); }

    const std::vector<AgentConversation>& conversations_;
    const ReplayRules rules_;
    const std::string model_;
    const Callbacks callbacks_;
    const uint32_t run_tag_;  // of its cache_salts
    Endpoint::Clock::time_point begin_;
    double seconds_ = 0.0;
    std::mutex mutex_;  // of what follows
    size_t next_ = 0;   // conversation
    std::vector<TurnRecord> records_;
    ReplayProgress progress_;
};

}  // namespace colugo
