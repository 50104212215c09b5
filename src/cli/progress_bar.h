// How far a long step is, on standard error: a bar that is redrawn where a terminal shows it, else a line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace colugo {

class ProgressBar {
 public:
    enum class Rate { none, bytes };
    // Rate::bytes: what is counted are bytes; the bar tells GB/s and the time that is left.
    explicit ProgressBar(std::string label, Rate rate = Rate::none);
    ~ProgressBar() { finish(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    void update(uint64_t done, uint64_t total);
    // Takes the bar off the screen.
    void finish();

 private:
    std::string rate_text(uint64_t done, uint64_t total);

    std::string label_;
    Rate rate_;
    std::chrono::steady_clock::time_point first_;
    uint64_t first_done_ = 0;  // what was done before we looked
    bool seen_ = false;
    bool terminal_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point last_;  // when something was last shown
};

}  // namespace colugo
