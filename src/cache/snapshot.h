// A sequence's whole state at one position: what a continuation needs so that nothing before it is computed again.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/slot_pool.h"

namespace colugo {

struct Snapshot {
    int64_t position = 0;  // tokens that were fed
    // [ceil(position / 32)] attention pages. The last one's columns from position % 32 on are not this snapshot's: the
    // sequence that wrote it may still be adding to it.
    std::vector<SlotRef> pages;
    SlotRef border;  // S at the last border (RecurrentLayout)
    SlotRef rows;    // the rows since, position % 32 of them; none at a border
    SlotRef tail;
};

}  // namespace colugo
