// The machine this program runs on, as far as a launch depends on it.
#pragma once

#include <cstdint>
#include <string>

namespace colugo {

std::string cpu_name();
// Processors this process may run on.
int usable_cpus();
// Bytes of memory, and of memory that can be had without swapping; both within the process's control group.
uint64_t total_memory();
uint64_t available_memory();

}  // namespace colugo
