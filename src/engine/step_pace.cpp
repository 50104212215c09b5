#include "engine/step_pace.h"

#include <algorithm>

namespace colugo {

namespace {

constexpr double kMostStretch = 2.0;  // of a decoding step
constexpr double kNewShare = 0.2;     // of a measurement in the running mean
constexpr int64_t kFirstRows = 8;     // before their time is known

double mean(double before, double now) {
    return before == 0.0 ? now : before + kNewShare * (now - before);
}

}  // namespace

void StepPace::record(int64_t prefill_rows, int64_t decode_rows, double seconds) {
    if (decode_rows == 0) return;
    if (prefill_rows == 0) {
        decode_seconds_ = mean(decode_seconds_, seconds);
        decode_rows_ = decode_rows;
        return;
    }
    seconds_per_row_ =
        mean(seconds_per_row_, std::max(seconds - decode_seconds_, 0.0) / static_cast<double>(prefill_rows));
}

int64_t StepPace::prefill_rows(int64_t decode_rows, int64_t most) const {
    // Twice as many sequences as were measured together are another matter.
    if (decode_seconds_ == 0.0 || decode_rows > 2 * decode_rows_ || 2 * decode_rows < decode_rows_) return 0;
    if (seconds_per_row_ == 0.0) return std::min(kFirstRows, most);
    const double rows = (kMostStretch - 1.0) * decode_seconds_ / seconds_per_row_;
    return std::clamp(static_cast<int64_t>(std::min(rows, static_cast<double>(most))), int64_t{1}, most);
}

}  // namespace colugo
