// The decimal forms of whole numbers, as an automaton.
#pragma once

#include <cstdint>
#include <string_view>

#include "sampling/char_automaton.h"

namespace colugo {

// The numbers low .. high (low <= high) that `factor` (at least 1) divides, written without needless zeros or signs.
// Throws invalid_argument where the factor is too large for an automaton; `what` is the subject.
CharDfa integers_between(int64_t low, int64_t high, int64_t factor, std::string_view what);

}  // namespace colugo
