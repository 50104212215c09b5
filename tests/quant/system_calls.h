// The calls by which this test program changes a disk, seen on their way to the system: noted, refused, or the last
// thing the program does. Syncs are noted but not made: a killed program loses nothing to their lack, only a machine
// without power does.
#pragma once

#include <string>
#include <vector>

namespace colugo::testing {

enum class Fault {
    none,
    kill,         // the program is gone; a write gets half its bytes out first
    no_space,     // ENOSPC
    no_device,    // EIO
    interrupted,  // every write is refused with EINTR once and then takes half its bytes
};

// From now on: calls are counted from 0, and `fault` befalls the one of number `call` (interrupted: all).
void set_fault(Fault fault, int call = 0);
// Every call of this function is refused with `reason`; "" for none.
void refuse_calls(const std::string& function, int reason);
// Since set_fault: "pwrite steps.jsonl", by the last part of the name.
std::vector<std::string> calls_made();

inline constexpr int kKilled = 42;  // exit status

}  // namespace colugo::testing
