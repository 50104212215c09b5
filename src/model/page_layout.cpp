#include "model/page_layout.h"

namespace colugo {

PageLayout::PageLayout(const ModelConfig& config, const ModelWeights& weights, kernels::KvType kv_type) {
    const auto tile = static_cast<int64_t>(kernels::kv_tile_bytes(kv_type, static_cast<int>(config.head_dim)));
    const int64_t tiles = config.num_key_value_heads * tile;
    const auto add = [&](const AttentionWeights& attention) {
        KvSlice slice{.key_offset = page_bytes, .value_offset = page_bytes + tiles};
        // A scale belongs to the 8-bit type; wider types store the value itself.
        if (kv_type == kernels::KvType::fp8) {
            slice.key_scale = attention.k_scale;
            slice.value_scale = attention.v_scale;
        }
        page_bytes += 2 * tiles;
        return slice;
    };
    for (const LayerWeights& layer : weights.layers) {
        if (layer.self_attn) trunk.push_back(add(*layer.self_attn));
    }
    if (weights.mtp) mtp = add(*weights.mtp->layer.self_attn);
    if (page_bytes == 0) page_bytes = 64;  // a model without attention still counts positions in pages
}

}  // namespace colugo
