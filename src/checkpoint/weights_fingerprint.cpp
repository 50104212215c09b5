#include "checkpoint/weights_fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace colugo {

namespace {

class Digest {
 public:
    Digest() : state_(XXH3_createState()) { XXH3_128bits_reset(state_); }
    ~Digest() { XXH3_freeState(state_); }
    Digest(const Digest&) = delete;
    Digest& operator=(const Digest&) = delete;

    void add(const void* data, size_t bytes) { XXH3_128bits_update(state_, data, bytes); }
    template <typename Number>
    void add_number(Number number) {
        add(&number, sizeof number);
    }
    void add(const std::vector<float>& values) {
        add_number(values.size());
        add(values.data(), values.size() * sizeof(float));
    }
    void add(const LinearWeight& weight) {
        add_number(weight.packed.n);
        add_number(weight.packed.k);
        add_number(weight.packed.format);
        add_number(weight.packed.activation);
        add_number(weight.packed.alpha);
        add_number(weight.packed.input_scale);
        add(weight.storage.data(), weight.storage.size());
    }
    void add(const LayerWeights& layer) {
        add(layer.input_layernorm);
        add(layer.post_attention_layernorm);
        if (layer.linear_attn) add(*layer.linear_attn);
        if (layer.self_attn) add(*layer.self_attn);
        for (const LinearWeight* weight : {&layer.mlp.gate_proj, &layer.mlp.up_proj, &layer.mlp.down_proj}) {
            add(*weight);
        }
    }
    std::string text() const {
        const XXH128_hash_t hash = XXH3_128bits_digest(state_);
        return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
    }

 private:
    void add(const GdnWeights& gdn) {
        for (const LinearWeight* weight :
             {&gdn.in_proj_qkv, &gdn.in_proj_z, &gdn.in_proj_b, &gdn.in_proj_a, &gdn.out_proj}) {
            add(*weight);
        }
        for (const std::vector<float>* values : {&gdn.conv1d, &gdn.neg_exp_a_log, &gdn.dt_bias, &gdn.norm}) {
            add(*values);
        }
    }
    void add(const AttentionWeights& attention) {
        for (const LinearWeight* weight :
             {&attention.q_proj, &attention.k_proj, &attention.v_proj, &attention.o_proj}) {
            add(*weight);
        }
        add(attention.q_norm);
        add(attention.k_norm);
        add_number(attention.k_scale);
        add_number(attention.v_scale);
    }

    XXH3_state_t* state_;
};

}  // namespace

std::string weights_fingerprint(const ModelWeights& weights) {
    Digest digest;
    digest.add(weights.embed_tokens);
    for (const LayerWeights& layer : weights.layers) digest.add(layer);
    digest.add(weights.norm);
    if (weights.lm_head) digest.add(*weights.lm_head);
    if (weights.mtp) {
        digest.add(weights.mtp->fc);
        for (const std::vector<float>* values :
             {&weights.mtp->pre_fc_norm_embedding, &weights.mtp->pre_fc_norm_hidden, &weights.mtp->norm}) {
            digest.add(*values);
        }
        digest.add(weights.mtp->layer);
    }
    return digest.text();
}

}  // namespace colugo
