#include "model/decoder_layer.h"

#include <algorithm>
#include <cmath>

#include "model/recurrent_layout.h"

namespace colugo {

namespace {

float eps(const LayerContext& context) {
    return static_cast<float>(context.config.rms_norm_eps);
}

void mlp(const LayerContext& context, TensorView x, const LayerWeights& weights) {
    const MlpWeights& mlp = weights.mlp;
    Backend& backend = context.backend;
    context.arena.clear();
    TensorView gate = context.arena.take(x.rows, mlp.gate_proj.packed.n);
    TensorView up = context.arena.take(x.rows, mlp.up_proj.packed.n);
    backend.rms_norm(context.normed, x, weights.post_attention_layernorm.data(), eps(context));
    const LinearCall inputs[] = {{&mlp.gate_proj.packed, gate}, {&mlp.up_proj.packed, up}};
    backend.linear(inputs, context.normed);
    backend.silu_mul(gate, gate, up);
    const LinearCall output[] = {{&mlp.down_proj.packed, x, true}};
    backend.linear(output, gate);
}

}  // namespace

AttentionShape attention_shape(const ModelConfig& config, kernels::KvType kv_type, const KvSlice& slice) {
    return {.num_heads = static_cast<int>(config.num_attention_heads),
            .num_kv_heads = static_cast<int>(config.num_key_value_heads),
            .head_dim = static_cast<int>(config.head_dim),
            .rotary_dim = static_cast<int>(config.rotary_dim()),
            .kv_type = kv_type,
            .slice = slice};
}

TensorView Arena::take(int64_t rows, int64_t cols) {
    // Rows start on cache lines.
    const int64_t stride = (cols + 15) / 16 * 16;
    const size_t bytes = static_cast<size_t>(rows * stride) * sizeof(float);
    COLUGO_CHECK(used_ + bytes <= memory_.size());
    TensorView view(reinterpret_cast<float*>(memory_.data() + used_), rows, cols);
    view.row_stride = stride;
    used_ += bytes;
    return view;
}

std::vector<float> inverse_frequencies(const ModelConfig& config) {
    const int64_t rotary_dim = config.rotary_dim();
    std::vector<float> frequencies;
    for (int64_t i = 0; i < rotary_dim / 2; ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rotary_dim);
        frequencies.push_back(static_cast<float>(std::pow(config.rope_theta, exponent)));
    }
    return frequencies;
}

int64_t layer_arena_floats(const ModelConfig& config) {
    const GdnShape gdn = gdn_shape(config);
    const int64_t padding = 6 * 16;  // of each row's up to six views
    const int64_t linear = 2 * gdn.conv_width() + 2 * gdn.value_width() + 2 * gdn.num_value_heads;
    const int64_t full = (3 * config.num_attention_heads + 2 * config.num_key_value_heads) * config.head_dim;
    return std::max({linear, full, 2 * config.intermediate_size}) + padding;
}

void gdn_layer(const LayerContext& context, TensorView x, const LayerWeights& weights,
               std::span<const GdnSequence> sequences) {
    const GdnWeights& gdn = *weights.linear_attn;
    const GdnShape shape = gdn_shape(context.config);
    Backend& backend = context.backend;
    context.arena.clear();
    TensorView inputs = context.arena.take(x.rows, shape.conv_width());
    TensorView mixed = context.arena.take(x.rows, shape.conv_width());
    TensorView z = context.arena.take(x.rows, shape.value_width());
    TensorView out = context.arena.take(x.rows, shape.value_width());
    TensorView beta = context.arena.take(x.rows, shape.num_value_heads);
    TensorView g = context.arena.take(x.rows, shape.num_value_heads);

    backend.rms_norm(context.normed, x, weights.input_layernorm.data(), eps(context));
    const LinearCall projections[] = {{&gdn.in_proj_qkv.packed, inputs},
                                      {&gdn.in_proj_z.packed, z},
                                      {&gdn.in_proj_b.packed, beta},
                                      {&gdn.in_proj_a.packed, g}};
    backend.linear(projections, context.normed);
    backend.gdn_convolution(mixed, inputs, gdn.conv1d.data(), shape, sequences);
    backend.gdn_inputs(mixed, beta, g, gdn.neg_exp_a_log.data(), gdn.dt_bias.data(), shape);
    backend.gated_delta_net(out, mixed, beta, g, shape, sequences);
    backend.gated_rms_norm(out, z, gdn.norm.data(), eps(context), shape);
    const LinearCall output[] = {{&gdn.out_proj.packed, x, true}};
    backend.linear(output, out);
    mlp(context, x, weights);
}

void attention_layer(const LayerContext& context, TensorView x, const LayerWeights& weights, const KvSlice& slice,
                     std::span<const AttentionSequence> sequences) {
    const AttentionWeights& attention = *weights.self_attn;
    const AttentionShape shape = attention_shape(context.config, context.kv_type, slice);
    Backend& backend = context.backend;
    context.arena.clear();
    TensorView queries = context.arena.take(x.rows, int64_t{2} * shape.num_heads * shape.head_dim);
    TensorView keys = context.arena.take(x.rows, int64_t{shape.num_kv_heads} * shape.head_dim);
    TensorView values = context.arena.take(x.rows, int64_t{shape.num_kv_heads} * shape.head_dim);
    TensorView out = context.arena.take(x.rows, int64_t{shape.num_heads} * shape.head_dim);

    backend.rms_norm(context.normed, x, weights.input_layernorm.data(), eps(context));
    const LinearCall projections[] = {
        {&attention.q_proj.packed, queries}, {&attention.k_proj.packed, keys}, {&attention.v_proj.packed, values}};
    backend.linear(projections, context.normed);
    backend.attention_inputs(queries, keys, values, context.cos_sin, attention.q_norm.data(), attention.k_norm.data(),
                             eps(context), shape, sequences);
    backend.attention(out, queries, shape, sequences);
    const LinearCall output[] = {{&attention.o_proj.packed, x, true}};
    backend.linear(output, out);
    mlp(context, x, weights);
}

void attention_keys(const LayerContext& context, TensorView x, const LayerWeights& weights, const KvSlice& slice,
                    std::span<const AttentionSequence> sequences) {
    const AttentionWeights& attention = *weights.self_attn;
    AttentionShape shape = attention_shape(context.config, context.kv_type, slice);
    shape.num_heads = 0;
    Backend& backend = context.backend;
    context.arena.clear();
    TensorView keys = context.arena.take(x.rows, int64_t{shape.num_kv_heads} * shape.head_dim);
    TensorView values = context.arena.take(x.rows, int64_t{shape.num_kv_heads} * shape.head_dim);
    backend.rms_norm(context.normed, x, weights.input_layernorm.data(), eps(context));
    const LinearCall projections[] = {{&attention.k_proj.packed, keys}, {&attention.v_proj.packed, values}};
    backend.linear(projections, context.normed);
    backend.attention_inputs(keys.columns(0, 0), keys, values, context.cos_sin, attention.q_norm.data(),
                             attention.k_norm.data(), eps(context), shape, sequences);
}

void mtp_input(Backend& backend, const ModelConfig& config, const MtpWeights& weights, TensorView x, TensorView hidden,
               TensorView concat) {
    const auto eps = static_cast<float>(config.rms_norm_eps);
    backend.rms_norm(concat.columns(0, config.hidden_size), x, weights.pre_fc_norm_embedding.data(), eps);
    backend.rms_norm(concat.columns(config.hidden_size, config.hidden_size), hidden, weights.pre_fc_norm_hidden.data(),
                     eps);
    const LinearCall call[] = {{&weights.fc.packed, x}};
    backend.linear(call, concat);
}

}  // namespace colugo
