#include "checkpoint/weight_list.h"

#include <fmt/format.h>

namespace colugo {

namespace {

class Lister {
 public:
    Lister(WeightList& list, const ModelConfig& config) : list_(list), config_(config) {}

    void linear(std::string module, int64_t n, int64_t k, LinearWeight& target) {
        list_.linears.push_back({std::move(module), n, k, &target});
    }

    void vector(std::string tensor, int64_t n, std::vector<float>& target, VectorKind kind = VectorKind::plain) {
        list_.vectors.push_back({std::move(tensor), {n}, kind, &target});
    }

    void layer(const std::string& prefix, LayerType type, LayerWeights& layer) {
        vector(prefix + "input_layernorm.weight", config_.hidden_size, layer.input_layernorm);
        if (type == LayerType::full_attention) {
            attention(prefix + "self_attn.", layer.self_attn.emplace());
        } else {
            gated_delta_net(prefix + "linear_attn.", layer.linear_attn.emplace());
        }
        vector(prefix + "post_attention_layernorm.weight", config_.hidden_size, layer.post_attention_layernorm);
        linear(prefix + "mlp.gate_proj", config_.intermediate_size, config_.hidden_size, layer.mlp.gate_proj);
        linear(prefix + "mlp.up_proj", config_.intermediate_size, config_.hidden_size, layer.mlp.up_proj);
        linear(prefix + "mlp.down_proj", config_.hidden_size, config_.intermediate_size, layer.mlp.down_proj);
    }

    void mtp(MtpWeights& mtp) {
        vector("mtp.pre_fc_norm_embedding.weight", config_.hidden_size, mtp.pre_fc_norm_embedding);
        vector("mtp.pre_fc_norm_hidden.weight", config_.hidden_size, mtp.pre_fc_norm_hidden);
        linear("mtp.fc", config_.hidden_size, 2 * config_.hidden_size, mtp.fc);
        layer("mtp.layers.0.", LayerType::full_attention, mtp.layer);
        vector("mtp.norm.weight", config_.hidden_size, mtp.norm);
    }

 private:
    void attention(const std::string& prefix, AttentionWeights& attention) {
        const int64_t hidden = config_.hidden_size;
        const int64_t queries = config_.num_attention_heads * config_.head_dim;
        const int64_t keys = config_.num_key_value_heads * config_.head_dim;
        linear(prefix + "q_proj", 2 * queries, hidden, attention.q_proj);
        linear(prefix + "k_proj", keys, hidden, attention.k_proj);
        linear(prefix + "v_proj", keys, hidden, attention.v_proj);
        linear(prefix + "o_proj", hidden, queries, attention.o_proj);
        vector(prefix + "q_norm.weight", config_.head_dim, attention.q_norm);
        vector(prefix + "k_norm.weight", config_.head_dim, attention.k_norm);
        cache_scale(prefix + "k_proj.k_scale", attention.k_scale);
        cache_scale(prefix + "v_proj.v_scale", attention.v_scale);
    }

    void gated_delta_net(const std::string& prefix, GdnWeights& gdn) {
        const int64_t hidden = config_.hidden_size;
        const int64_t heads = config_.linear_num_value_heads;
        linear(prefix + "in_proj_qkv", config_.conv_dim(), hidden, gdn.in_proj_qkv);
        linear(prefix + "in_proj_z", config_.value_dim(), hidden, gdn.in_proj_z);
        linear(prefix + "in_proj_b", heads, hidden, gdn.in_proj_b);
        linear(prefix + "in_proj_a", heads, hidden, gdn.in_proj_a);
        linear(prefix + "out_proj", hidden, config_.value_dim(), gdn.out_proj);
        list_.vectors.push_back({prefix + "conv1d.weight",
                                 {config_.conv_dim(), 1, config_.linear_conv_kernel_dim},
                                 VectorKind::convolution,
                                 &gdn.conv1d});
        vector(prefix + "A_log", heads, gdn.neg_exp_a_log, VectorKind::negative_exp);
        vector(prefix + "dt_bias", heads, gdn.dt_bias);
        vector(prefix + "norm.weight", config_.linear_value_head_dim, gdn.norm);
    }

    void cache_scale(std::string tensor, float& target) {
        list_.vectors.push_back({std::move(tensor), {}, VectorKind::cache_scale, nullptr, &target});
    }

    WeightList& list_;
    const ModelConfig& config_;
};

}  // namespace

WeightList list_weights(ModelWeights& weights, const ModelConfig& config, bool with_lm_head, bool with_mtp) {
    WeightList list;
    Lister lister(list, config);
    lister.linear("model.embed_tokens", config.vocab_size, config.hidden_size, weights.embed_tokens);
    list.linears.back().is_table = true;
    weights.layers.resize(config.layer_types.size());
    for (size_t layer = 0; layer < weights.layers.size(); ++layer) {
        lister.layer(fmt::format("model.layers.{}.", layer), config.layer_types[layer], weights.layers[layer]);
    }
    lister.vector("model.norm.weight", config.hidden_size, weights.norm);
    if (with_lm_head) lister.linear("lm_head", config.vocab_size, config.hidden_size, weights.lm_head.emplace());
    if (with_mtp) lister.mtp(weights.mtp.emplace());
    return list;
}

}  // namespace colugo
