// What this process has in memory.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace colugo::testing {

// A sanitizer keeps what was freed, so the figure says nothing there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kResidentBytesCount = false;
#else
constexpr bool kResidentBytesCount = true;
#endif

inline uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    uint64_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace colugo::testing
