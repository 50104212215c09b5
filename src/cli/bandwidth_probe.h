// How fast this machine's threads read memory that is in no cache: the bound of decoding.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"

namespace colugo {

// Bytes per second, the best of several passes of all threads over `bytes` of memory.
double read_bandwidth(ThreadPool& threads, uint64_t bytes);

}  // namespace colugo
