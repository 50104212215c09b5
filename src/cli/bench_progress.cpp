#include "cli/bench_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/text_output.h"
#include "text/terminal_text.h"

namespace colugo {

namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLineEvery = std::chrono::seconds(5);
constexpr size_t kCells = 20;

// 1:02:03
std::string clock_text(double seconds) {
    const auto left = static_cast<int64_t>(seconds);
    return fmt::format("{}:{:02}:{:02}", left / 3600, left / 60 % 60, left % 60);
}

}  // namespace

BenchProgress::BenchProgress(const std::vector<AgentConversation>& conversations)
    : conversations_(conversations), terminal_(isatty(STDERR_FILENO) == 1), last_(std::chrono::steady_clock::now()) {}

bool BenchProgress::is_due(bool last) {
    const auto now = std::chrono::steady_clock::now();
    if (!last && now - last_ < (terminal_ ? std::chrono::nanoseconds(kRedraw) : kLineEvery)) return false;
    last_ = now;
    return true;
}

void BenchProgress::update(const ReplayProgress& progress) {
    if (!is_due(progress.requests == progress.turns)) return;
    const auto place = static_cast<size_t>(progress.conversation - conversations_.data());
    std::string what = fmt::format("turn {}/{}, {} ({}/{})", progress.requests, progress.turns,
                                   on_one_line(progress.conversation->id), place + 1, conversations_.size());
    const double per_turn = progress.seconds / static_cast<double>(progress.requests);
    what += ", " + clock_text(per_turn * static_cast<double>(progress.turns - progress.requests)) + " left";
    if (progress.output_tokens && progress.seconds > 0.0) {
        what += fmt::format(", {:.1f} tok/s", static_cast<double>(*progress.output_tokens) / progress.seconds);
    }
    if (progress.cached_tokens && progress.prompt_tokens.value_or(0) > 0) {
        what += fmt::format(", {:.1f} % cached", 100.0 * static_cast<double>(*progress.cached_tokens) /
                                                     static_cast<double>(*progress.prompt_tokens));
    }
    show(what, progress.requests, progress.turns);
}

void BenchProgress::update(const BfclProgress& progress) {
    if (!is_due(progress.done == progress.total)) return;
    const double left =
        progress.seconds / static_cast<double>(progress.done) * static_cast<double>(progress.total - progress.done);
    show(fmt::format("question {}/{}, {:.1f} % right, {} left", progress.done, progress.total, 100.0 * progress.score,
                     clock_text(left)),
         progress.done, progress.total);
}

void BenchProgress::update(const std::string& what, size_t done, size_t total) {
    if (is_due(false)) show(fmt::format("{} {}/{}", what, done, total), done, total);
}

void BenchProgress::show(const std::string& what, size_t done, size_t total) {
    if (!terminal_) {
        write_note(what + "\n");
        return;
    }
    const size_t filled = total == 0 ? 0 : kCells * std::min(done, total) / total;
    write_note(fmt::format("\r\033[K[{:<{}}] {}", std::string(filled, '#'), kCells, what));
    shown_ = true;
}

void BenchProgress::finish() {
    if (shown_) write_note("\r\033[K");
    shown_ = false;
}

}  // namespace colugo
