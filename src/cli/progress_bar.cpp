#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/text_output.h"

namespace colugo {

namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLineEvery = std::chrono::seconds(5);
constexpr uint64_t kCells = 30;

}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) == 1), last_(std::chrono::steady_clock::now()) {}

void ProgressBar::update(uint64_t done, uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (total == 0 || now - last_ < (terminal_ ? std::chrono::nanoseconds(kRedraw) : kLineEvery)) return;
    last_ = now;
    const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
    const int percent = static_cast<int>(share * 100.0);
    if (terminal_) {
        const auto filled = static_cast<size_t>(share * static_cast<double>(kCells));
        write_note(fmt::format("\r{} [{:<{}}] {:3} %", label_, std::string(filled, '#'), kCells, percent));
    } else {
        write_note(fmt::format("{} {} %\n", label_, percent));
    }
    shown_ = true;
}

void ProgressBar::finish() {
    if (terminal_ && shown_) write_note("\r\033[K");
    shown_ = false;
}

}  // namespace colugo
