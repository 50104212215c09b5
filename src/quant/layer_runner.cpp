#include "quant/layer_runner.h"

#include <algorithm>

#include "model/sequence_state.h"

namespace colugo {

using kernels::kPage;
using kernels::KvType;

LayerRunner::LayerRunner(const ModelConfig& config, Backend& backend, int64_t longest)
    : config_(config),
      backend_(backend),
      inverse_frequencies_(inverse_frequencies(config)),
      num_pages_((longest + kPage) / kPage + 1) {
    const size_t row_bytes = static_cast<size_t>(kRows * (config.hidden_size + config.rotary_dim())) * sizeof(float);
    const size_t arena_bytes = static_cast<size_t>(kRows * layer_arena_floats(config)) * sizeof(float);
    workspace_bytes_ = row_bytes + arena_bytes;
    arena_ = Arena(arena_bytes);
    rows_ = Buffer(row_bytes);
    normed_ = TensorView(rows_.as<float>(), kRows, config.hidden_size);
    cos_sin_ = TensorView(rows_.as<float>() + kRows * config.hidden_size, kRows, config.rotary_dim());
}

LayerContext LayerRunner::context(int64_t rows) {
    return {.backend = backend_,
            .config = config_,
            .arena = arena_,
            .normed = normed_.first_rows(rows),
            .cos_sin = cos_sin_.first_rows(rows),
            .kv_type = KvType::f32};
}

void LayerRunner::run(const LayerWeights& weights, TensorView x, int64_t first_position) {
    if (weights.linear_attn) {
        COLUGO_CHECK(first_position == 0);
        run_gdn(weights, x);
    } else {
        run_attention(weights, x, first_position);
    }
}

void LayerRunner::run_gdn(const LayerWeights& weights, TensorView x) {
    ModelConfig one_layer = config_;
    one_layer.num_hidden_layers = 1;
    one_layer.layer_types = {LayerType::linear_attention};
    const RecurrentLayout layout(one_layer);
    const SequenceBuffers buffers(layout);
    const SequenceState state = buffers.start();
    const std::vector<GdnPageState> pages(kRows / kPage + 1, layout.page(0, state.border, state.border, state.rows));
    float* window = layout.window(0, state.tail);
    for (int64_t begin = 0; begin < x.rows; begin += kRows) {
        const int64_t count = std::min(kRows, x.rows - begin);
        const ConvWindow windows[] = {{static_cast<int>(count), window}};
        const GdnSequence part[] = {{0, static_cast<int>(count), begin, pages.data(), window, windows}};
        gdn_layer(context(count), x.row_range(begin, count), weights, part);
    }
}

void LayerRunner::run_attention(const LayerWeights& weights, TensorView x, int64_t first_position) {
    const int64_t tiles = config_.num_key_value_heads *
                          static_cast<int64_t>(kernels::kv_tile_bytes(KvType::f32, static_cast<int>(config_.head_dim)));
    COLUGO_CHECK(first_position + x.rows <= num_pages_ * kPage);
    const Buffer memory(static_cast<size_t>(num_pages_ * 2 * tiles));  // zeroed, as pages are
    std::vector<std::byte*> pages;
    for (int64_t page = 0; page < num_pages_; ++page) pages.push_back(memory.data() + page * 2 * tiles);
    const KvSlice slice{.key_offset = 0, .value_offset = tiles};
    for (int64_t begin = 0; begin < x.rows; begin += kRows) {
        const int64_t count = std::min(kRows, x.rows - begin);
        const AttentionSequence part[] = {
            {0, static_cast<int>(count), first_position + begin, first_position, pages.data()}};
        const LayerContext layer_context = context(count);
        backend_.rope_table(layer_context.cos_sin, part, inverse_frequencies_);
        attention_layer(layer_context, x.row_range(begin, count), weights, slice, part);
    }
}

}  // namespace colugo
