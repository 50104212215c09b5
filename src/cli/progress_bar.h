// How far a long step is, on standard error: a bar that is redrawn where a terminal shows it, else a line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace colugo {

class ProgressBar {
 public:
    explicit ProgressBar(std::string label);
    ~ProgressBar() { finish(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    void update(uint64_t done, uint64_t total);
    // Takes the bar off the screen.
    void finish();

 private:
    std::string label_;
    bool terminal_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point last_;  // when something was last shown
};

}  // namespace colugo
