// Counts this program's allocations by operator new, to show that something makes none.
#pragma once

#include <cstddef>

namespace colugo {

size_t allocation_count();

}  // namespace colugo
