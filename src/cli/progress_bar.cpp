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

ProgressBar::ProgressBar(std::string label, Rate rate)
    : label_(std::move(label)),
      rate_(rate),
      terminal_(isatty(STDERR_FILENO) == 1),
      last_(std::chrono::steady_clock::now()) {}

std::string ProgressBar::rate_text(uint64_t done, uint64_t total) {
    if (rate_ == Rate::none || done <= first_done_) return "";
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - first_).count();
    const double rate = static_cast<double>(done - first_done_) / seconds;
    const auto left = static_cast<int64_t>(static_cast<double>(total - std::min(done, total)) / rate);
    return fmt::format(", {:.3f} GB/s, {}:{:02}:{:02} left", rate * 1e-9, left / 3600, left / 60 % 60, left % 60);
}

void ProgressBar::update(uint64_t done, uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (!seen_) {
        seen_ = true;
        first_ = now;
        first_done_ = done;
    }
    if (total == 0 || now - last_ < (terminal_ ? std::chrono::nanoseconds(kRedraw) : kLineEvery)) return;
    last_ = now;
    const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
    const int percent = static_cast<int>(share * 100.0);
    if (terminal_) {
        const auto filled = static_cast<size_t>(share * static_cast<double>(kCells));
        write_note(fmt::format("\r\033[K{} [{:<{}}] {:3} %{}", label_, std::string(filled, '#'), kCells, percent,
                               rate_text(done, total)));
    } else {
        write_note(fmt::format("{} {} %{}\n", label_, percent, rate_text(done, total)));
    }
    shown_ = true;
}

void ProgressBar::finish() {
    if (terminal_ && shown_) write_note("\r\033[K");
    shown_ = false;
}

}  // namespace colugo
