// The processor time a call takes on this thread, so that a busy machine does not make a test fail.
#pragma once

#include <time.h>

#include <algorithm>

#include "base/function_ref.h"

namespace colugo {

// The least of three runs.
inline double thread_seconds(FunctionRef<void()> call) {
    const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    double least = 1e30;
    for (int run = 0; run < 3; ++run) {
        const double start = now();
        call();
        least = std::min(least, now() - start);
    }
    return least;
}

}  // namespace colugo
