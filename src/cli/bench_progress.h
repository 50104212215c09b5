// How far a benchmark is, on standard error: a bar on a terminal, else a line now and then.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "bench/agent_replay.h"
#include "bench/bfcl_run.h"

namespace colugo {

class BenchProgress {
 public:
    // `conversations`: in all.
    explicit BenchProgress(const std::vector<AgentConversation>& conversations);
    ~BenchProgress() { finish(); }
    BenchProgress(const BenchProgress&) = delete;
    BenchProgress& operator=(const BenchProgress&) = delete;

    void update(const ReplayProgress& progress);
    void update(const BfclProgress& progress);
    // Of work behind the run.
    void update(const std::string& what, size_t done, size_t total);
    // Takes the bar off the screen.
    void finish();

 private:
    bool is_due(bool last);
    void show(const std::string& what, size_t done, size_t total);

    const std::vector<AgentConversation>& conversations_;
    bool terminal_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point last_;  // when something was last shown
};

}  // namespace colugo
