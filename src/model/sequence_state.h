// What one sequence carries between passes: attention pages, and the recurrent state at its length. Memory belongs to
// whoever runs the sequence; SequenceBuffers serves where nothing is shared.
#pragma once

#include <vector>

#include "base/buffer.h"
#include "model/recurrent_layout.h"

namespace colugo {

struct SequenceState {
    // Positions that have been fed.
    int64_t length = 0;
    // Page starts in position order; must cover a position before it is fed.
    std::vector<std::byte*> pages;
    // The recurrent pieces (RecurrentLayout) at `length`. At length 0, border and tail are zero.
    std::byte* border = nullptr;
    std::byte* rows = nullptr;
    std::byte* tail = nullptr;

    int64_t page_capacity() const { return static_cast<int64_t>(pages.size()) * kernels::kPage; }
};

// One sequence's recurrent pieces, its own alone: a state at position 0, to be moved on in place.
class SequenceBuffers {
 public:
    explicit SequenceBuffers(const RecurrentLayout& layout)
        : border_bytes_(layout.border_bytes()),
          rows_bytes_(layout.rows_bytes()),
          memory_(border_bytes_ + rows_bytes_ + layout.tail_bytes()) {}

    SequenceState start() const {
        SequenceState state;
        state.border = memory_.data();
        state.rows = state.border + border_bytes_;
        state.tail = state.rows + rows_bytes_;
        return state;
    }
    size_t bytes() const { return memory_.size(); }

 private:
    size_t border_bytes_;
    size_t rows_bytes_;
    Buffer memory_;
};

}  // namespace colugo
