// Everything one sequence carries between passes: attention pages, Gated DeltaNet states, the MTP head's pending
// hidden.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "base/buffer.h"
#include "checkpoint/weights.h"

namespace colugo {

class SequenceState {
 public:
    // At position 0: states zero, no pages.
    explicit SequenceState(const ModelConfig& config);

    // Positions that have been fed.
    int64_t length = 0;
    // Page starts in position order, owned by whoever granted them; must cover a position before it is fed.
    std::vector<std::byte*> pages;

    GdnState gdn(int index) const { return gdn_[static_cast<size_t>(index)]; }
    // The trunk's hidden after the final norm at length - 1: [hidden_size] f32. The MTP head pairs it with the next
    // token.
    float* pending_hidden() const { return pending_hidden_; }
    int64_t page_capacity() const { return static_cast<int64_t>(pages.size()) * kernels::kPage; }
    size_t bytes() const { return memory_.size(); }

 private:
    Buffer memory_;
    std::vector<GdnState> gdn_;  // one per Gated DeltaNet layer, in layer order
    float* pending_hidden_ = nullptr;
};

GdnShape gdn_shape(const ModelConfig& config);

}  // namespace colugo
