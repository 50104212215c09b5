#include "engine/step_pace.h"

#include <algorithm>

namespace colugo {

namespace {

constexpr double kMostStretch = 2.0;  // of a decoding step
constexpr double kSlowerShare = 0.2;  // of a slower decoding step in the running mean
constexpr double kRowsShare = 0.5;    // of a measurement in the rows
constexpr double kFirstRows = 8.0;    // of a prompt of which nothing is known

}  // namespace

// Twice as many sequences as were measured together are another matter.
bool StepPace::is_like_measured(int64_t decode_rows) const {
    return decode_seconds_ > 0.0 && decode_rows <= 2 * decode_rows_ && 2 * decode_rows >= decode_rows_;
}

void StepPace::record(int64_t prefill_rows, int64_t decode_rows, double seconds) {
    if (decode_rows == 0 || seconds <= 0.0) return;
    if (prefill_rows == 0) {
        // What makes a step slow for once is not its work, so a faster one counts at once.
        const bool slower = is_like_measured(decode_rows) && seconds > decode_seconds_;
        decode_seconds_ = slower ? decode_seconds_ + kSlowerShare * (seconds - decode_seconds_) : seconds;
        decode_rows_ = decode_rows;
        rows_ = kFirstRows;  // the next prompt's rows may be far deeper than the last one's
        return;
    }
    // The weights are read once for all rows of a step, so the time of a row falls as rows are added: a step of n rows
    // that took t holds at least n * T / t within T. What the first rows take says nothing of the next ones; many of
    // them may be nearly free beside weights that are read anyway, and then no more.
    const double rows = static_cast<double>(prefill_rows) * kMostStretch * decode_seconds_ / seconds;
    const bool is_rest = prefill_rows < static_cast<int64_t>(rows_);  // of a prompt, and no measure of longer ones
    if (is_rest && rows >= static_cast<double>(prefill_rows)) return;
    rows_ += kRowsShare * (rows - rows_);
}

int64_t StepPace::prefill_rows(int64_t decode_rows, int64_t most) const {
    if (!is_like_measured(decode_rows)) return 0;
    return std::clamp(static_cast<int64_t>(std::min(rows_, static_cast<double>(most))), int64_t{1}, most);
}

}  // namespace colugo
