// What the draw will do to a token's logit, done to the logits that the MTP head drafts from, as far as it is cheap:
// the likelier a draft is to be what is drawn, the better.
#pragma once

#include <vector>

#include "engine/sequence.h"
#include "sampling/token_mask.h"
#include "spec/drafter.h"

namespace colugo {

class DraftAdjuster {
 public:
    // drawable: the ids that may be drawn; borrowed.
    explicit DraftAdjuster(const TokenMask& drawable) : drawable_(drawable) {}

    // As Drafter::Adjust has it, for the token at a position of the sequence.
    void adjust(Sequence& sequence, int64_t position, DraftLogits logits);

 private:
    void add_noise(const SamplingParams& params, int64_t position, DraftLogits logits);

    const TokenMask& drawable_;
    std::vector<float> largest_;
};

}  // namespace colugo
