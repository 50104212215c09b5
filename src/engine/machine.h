// The machine this program runs on, as far as a launch depends on it.
#pragma once

#include <cstdint>
#include <string>

namespace colugo {

std::string cpu_name();
// Processors this process may run on, and has a time share of.
int usable_cpus();
// Bytes of memory, and of memory that can be had without swapping; both within the process's control group.
uint64_t total_memory();
uint64_t available_memory();
// The most memory this process has had at a time, in bytes: its peak resident set.
uint64_t peak_memory();

}  // namespace colugo
