// Where each attention layer's tiles lie inside a page: 32 positions of every attention layer, the MTP head's included.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "checkpoint/weights.h"

namespace colugo {

struct PageLayout {
    std::vector<KvSlice> trunk;  // one per full-attention layer, in layer order
    KvSlice mtp;                 // used when the weights have an MTP head
    int64_t page_bytes = 0;      // a multiple of 64

    PageLayout(const ModelConfig& config, const ModelWeights& weights, kernels::KvType kv_type);
};

}  // namespace colugo
