// The accuracy phase against a server.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/agent_replay.h"
#include "bench/bfcl_phase.h"
#include "bench/endpoint.h"

namespace colugo {

struct BfclProgress {
    size_t done = 0, total = 0;  // questions
    double seconds = 0.0;
    double score = 0.0;  // the mean of those done
};

class BfclRun {
 public:
    struct Callbacks {
        std::function<std::unique_ptr<Endpoint>()> connect;                              // called from several threads
        std::function<bool()> should_stop;                                               // likewise
        std::function<void(const BfclProgress&)> progress = [](const BfclProgress&) {};  // one at a time
    };
    // Of the rules, those for a reply hold here too, and `concurrency` questions are asked at a time unless
    // `interleave` is set. `model`: its name in requests; empty: none.
    BfclRun(BfclPhase phase, const ReplayRules& rules, std::string model, Callbacks callbacks);

    // Asks every question, once. One whose reply does not come stays without.
    void run();

    // `bfcl` of results.json.
    nlohmann::ordered_json json() const;
    // Of bfcl.jsonl: a line for each question, in their order, asked or not.
    std::string lines() const;

 private:
    struct Record {
        TurnReply reply;
        std::optional<TurnFailure> failure;
    };
    void run_one_by_one();
    std::optional<size_t> next_sample();
    void ask(Endpoint& endpoint, size_t sample);
    nlohmann::ordered_json failures() const;
    nlohmann::ordered_json line(size_t sample) const;

    BfclPhase phase_;
    const ReplayRules rules_;
    const std::string model_;
    const Callbacks callbacks_;
    Endpoint::Clock::time_point begin_;
    double seconds_ = 0.0;
    std::mutex mutex_;  // of what follows, and of phase_'s replies
    size_t next_ = 0, done_ = 0, right_ = 0;
    std::vector<std::optional<Record>> records_;  // by sample
};

}  // namespace colugo
