// What the machine can do at most, measured beside what is benchmarked: reading memory, and fp32 multiply-adds.
#pragma once

#include <cstddef>

#include "base/thread_pool.h"

namespace colugo {

// Reads memory that no cache holds, once.
void read_bytes(const std::byte* begin, size_t bytes);

// Multiply-adds of one multiply_add() call: nothing but independent chains in registers.
extern const double kMultiplyAdds;
void multiply_add();

// All threads together, by the clock on the wall: bytes per second, and multiply-adds per second.
double read_bandwidth(ThreadPool& pool);
double multiply_add_rate(ThreadPool& pool);

}  // namespace colugo
