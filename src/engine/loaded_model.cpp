#include "engine/loaded_model.h"

#include <cmath>

#include "checkpoint/weights_fingerprint.h"
#include "engine/machine.h"

namespace colugo {

namespace {

uint64_t layer_bytes(const LayerWeights& layer) {
    uint64_t bytes =
        layer.mlp.gate_proj.storage.size() + layer.mlp.up_proj.storage.size() + layer.mlp.down_proj.storage.size();
    if (layer.linear_attn) {
        const GdnWeights& gdn = *layer.linear_attn;
        for (const LinearWeight* weight :
             {&gdn.in_proj_qkv, &gdn.in_proj_z, &gdn.in_proj_b, &gdn.in_proj_a, &gdn.out_proj}) {
            bytes += weight->storage.size();
        }
    } else {
        const AttentionWeights& attention = *layer.self_attn;
        for (const LinearWeight* weight :
             {&attention.q_proj, &attention.k_proj, &attention.v_proj, &attention.o_proj}) {
            bytes += weight->storage.size();
        }
    }
    return bytes;
}

}  // namespace

LoadedModel::LoadedModel(const LaunchOptions& options, const Progress& progress)
    : directory_(options.model),
      config_(read_model_config(options.model)),
      compute_(options.compute),
      threads_(options.threads > 0 ? options.threads : usable_cpus()),
      backend_(kernels::kernel_table(kernels::select_tier()), threads_, options.compute) {
    check_spec_params(options.spec);
    const CheckpointFiles files(options.model);
    load(files, options, progress);
    max_rows_ = options.max_rows;
    model_ = std::make_unique<Qwen35>(config_, loaded_.weights, backend_, model_options(options, kv_type_));
    spec_ = options.spec;
    if (!model_->has_mtp() && (spec_.mode == SpecMode::mtp || spec_.mode == SpecMode::tree)) {
        spec_.mode = spec_.uses_lookup() ? SpecMode::lookup : SpecMode::off;
        notices_.push_back("the checkpoint has no MTP head: drafts come from the text alone");
    }
    self_test();
}

void LoadedModel::load(const CheckpointFiles& files, const LaunchOptions& options, const Progress& progress) {
    const QuantizationConfig quantization = read_quantization_config(options.model);
    const LoadOptions load_options{
        .compute = options.compute, .with_mtp = options.with_mtp || options.spec.uses_head(), .progress = progress};
    const LoadReport expected = plan_weights(files, config_, quantization, load_options);
    kv_type_ = choose_kv_type(options, expected.kv_cache_algo);
    plan_ = plan_memory(config_, expected, kv_type_, options, backend_);
    // What the plan leaves out is small beside it: the backend's scratch memory, the tokenizer, stacks.
    fit_memory(plan_, options, available_memory() / 32 * 31, notices_);

    loaded_ = load_weights(files, config_, quantization, load_options, threads_);
    plan_.weight_bytes = loaded_.report.memory_bytes;
    const std::vector<std::string>& found = loaded_.report.notices;
    notices_.insert(notices_.end(), found.begin(), found.end());
}

void LoadedModel::self_test() {
    constexpr int kTokens = 12;  // more than the convolution's window, less than a page
    const SequenceBuffers buffers(model_->recurrent_layout());
    const Buffer page(static_cast<size_t>(model_->page_layout().page_bytes));
    SequenceState sequence = buffers.start();
    sequence.pages.push_back(page.data());
    int32_t tokens[kTokens];
    int32_t rows[kTokens];
    for (int i = 0; i < kTokens; ++i) {
        tokens[i] = static_cast<int32_t>(i * config_.vocab_size / kTokens);
        rows[i] = i;
    }
    const Buffer memory(static_cast<size_t>(kTokens * config_.vocab_size) * sizeof(float));
    const TensorView logits(memory.as<float>(), kTokens, config_.vocab_size);
    const int step = std::min(kTokens, model_->max_rows());
    for (int begin = 0; begin < kTokens; begin += step) {
        const int count = std::min(step, kTokens - begin);
        const auto first = static_cast<size_t>(begin), rows_here = static_cast<size_t>(count);
        const SequenceRows part[] = {{&sequence, std::span(tokens).subspan(first, rows_here)}};
        model_->forward(part);
        model_->logits(logits.row_range(begin, count), std::span(rows).first(rows_here));
    }
    for (int64_t row = 0; row < kTokens; ++row) {
        for (int64_t token = 0; token < config_.vocab_size; ++token) {
            const float logit = logits.f32(row)[token];
            if (std::isfinite(logit)) continue;
            fail(ErrorCode::invalid_file,
                 "the self-test of {} gave token {} the logit {} at position {}; expected finite numbers: its weights "
                 "or scales are damaged",
                 directory_, token, logit, row);
        }
    }
}

std::string LoadedModel::numerics_key() const {
    constexpr int kStateVersion = 3;  // of what kernels make of the same weights, and of how a state lies in memory
    return fmt::format("state {}, weights {}, tier {}, compute {}, keys and values {}", kStateVersion,
                       weights_fingerprint(loaded_.weights), kernels::tier_name(tier()),
                       compute_ == ComputeMode::f32 ? "f32" : "bf16", kv_type_name(kv_type_));
}

uint64_t LoadedModel::weight_bytes_per_pass() const {
    const ModelWeights& weights = loaded_.weights;
    uint64_t bytes = weights.head().storage.size();
    for (const LayerWeights& layer : weights.layers) bytes += layer_bytes(layer);
    if (weights.mtp) {  // a pass fills the MTP head's keys and values only
        const AttentionWeights& attention = *weights.mtp->layer.self_attn;
        bytes += weights.mtp->fc.storage.size() + attention.k_proj.storage.size() + attention.v_proj.storage.size();
    }
    return bytes;
}

}  // namespace colugo
