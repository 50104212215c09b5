#include "checkpoint/weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "checkpoint/linear_plan.h"
#include "checkpoint/tensor_index.h"
#include "checkpoint/weight_list.h"

namespace colugo {

using kernels::WeightFormat;

namespace {

constexpr const char* kOwnHead =
    "config.json says tie_word_embeddings, but the checkpoint has an lm_head of its own, which is used";

// "a, b and 5 more"
std::string some_names(const std::vector<std::string>& names) {
    constexpr size_t kNamed = 4;
    if (names.size() <= kNamed) return fmt::format("{}", fmt::join(names, ", "));
    const auto end = names.begin() + static_cast<ptrdiff_t>(kNamed);
    return fmt::format("{} and {} more", fmt::join(names.begin(), end, ", "), names.size() - kNamed);
}

std::string module_of(const std::string& tensor) {
    const size_t dot = tensor.rfind('.');
    return dot == tensor.npos ? tensor : tensor.substr(0, dot);
}

// "model.layers.3." or "mtp.": the part of the model a tensor belongs to.
std::string part_of(const std::string& tensor) {
    constexpr std::string_view kLayers = "model.layers.";
    const size_t from = tensor.starts_with(kLayers) ? kLayers.size() : 0;
    return tensor.substr(0, tensor.find('.', from) + 1);
}

}  // namespace

// All that is known from the headers: what goes where, in which form, and what is left over.
class WeightPlan {
 public:
    WeightPlan(const CheckpointFiles& files, const ModelConfig& config, const QuantizationConfig& quantization,
               const LoadOptions& options)
        : config_(config), tensors_(files) {
        report_.kv_cache_algo = quantization.kv_cache_algo();
        const bool own_head = decide_head();
        report_.tied_head = !own_head;
        report_.has_mtp = decide_mtp(options);
        list_ = list_weights(weights_, config, own_head, report_.has_mtp);
        refuse_missing();
        LinearPlanner planner(tensors_, quantization, options.compute, module_notices_);
        for (const NeededLinear& needed : list_.linears) {
            linears_.push_back(needed.is_table ? planner.plan_table(needed.module, needed.n, needed.k)
                                               : planner.plan(needed.module, needed.n, needed.k));
        }
        for (const NeededVector& needed : list_.vectors) vectors_.push_back(find_vector(needed));
        refuse_lone_cache_scale();
        settle_leftovers();
        fill_report(files, quantization);
    }

    LoadReport& report() { return report_; }
    const ModelWeights& weights() const { return weights_; }

    LoadedWeights load(const LoadOptions& options, ThreadPool& threads) {
        uint64_t done = 0;
        const auto advance = [&](uint64_t bytes) {
            done += bytes;
            if (options.progress) options.progress(done, report_.file_bytes);
        };
        for (size_t i = 0; i < vectors_.size(); ++i) {
            if (!vectors_[i]) continue;
            load_vector(list_.vectors[i], vectors_[i]);
            advance(vectors_[i].record->length);
        }
        for (size_t i = 0; i < linears_.size(); ++i) {
            if (list_.linears[i].module == "lm_head" && head_repeats_embedding(linears_[i], threads)) {
                share_head(i);
            } else {
                *list_.linears[i].target = pack_linear(linears_[i], threads);
            }
            advance(linears_[i].file_bytes());
        }
        return {std::move(weights_), std::move(report_)};
    }

    size_t index_of(std::string_view module) const {
        const auto found = std::find_if(list_.linears.begin(), list_.linears.end(),
                                        [module](const NeededLinear& needed) { return needed.module == module; });
        COLUGO_CHECK(found != list_.linears.end());
        return static_cast<size_t>(found - list_.linears.begin());
    }
    const LinearWeight& linear(std::string_view module) const { return *list_.linears[index_of(module)].target; }
    const StoredTensor& stored(std::string_view module) const { return linears_[index_of(module)].weight; }

    void load_part(std::string_view prefix, ThreadPool& threads) {
        for (size_t i = 0; i < vectors_.size(); ++i) {
            if (vectors_[i] && list_.vectors[i].tensor.starts_with(prefix)) load_vector(list_.vectors[i], vectors_[i]);
        }
        for (size_t i = 0; i < linears_.size(); ++i) {
            if (list_.linears[i].module.starts_with(prefix)) {
                *list_.linears[i].target = pack_linear(linears_[i], threads);
            }
        }
    }

    void unload_part(std::string_view prefix) {
        for (const NeededVector& vector : list_.vectors) {
            if (vector.target != nullptr && vector.tensor.starts_with(prefix)) *vector.target = {};
        }
        for (const NeededLinear& linear : list_.linears) {
            if (linear.module.starts_with(prefix)) *linear.target = {};
        }
    }

 private:
    // True when the head is a matrix of its own.
    bool decide_head() {
        if (tensors_.has_any("lm_head.")) return true;
        if (!config_.tie_word_embeddings.value_or(true)) {
            fail(ErrorCode::invalid_file,
                 "tensor lm_head.weight is missing, and config.json says tie_word_embeddings is "
                 "false; if the head is the embedding, set tie_word_embeddings to true in config.json");
        }
        return false;
    }

    bool decide_mtp(const LoadOptions& options) {
        const bool there = tensors_.has_any("mtp.");
        if (!options.with_mtp) return false;
        if (config_.mtp_num_hidden_layers == 0) {
            if (there)
                report_.notices.push_back("the mtp tensors are ignored: config.json says mtp_num_hidden_layers is 0");
            return false;
        }
        if (!there && config_.mtp_num_hidden_layers) {
            report_.notices.push_back(
                "config.json says mtp_num_hidden_layers is 1, but the checkpoint has no mtp tensors: "
                "MTP is off");
        }
        return there;
    }

    // Names what lies in the place of the first missing tensor: another naming, or another kind of layer.
    void refuse_missing() const {
        std::set<std::string> known;
        std::vector<std::string> missing;
        for (const NeededLinear& needed : list_.linears) {
            known.insert(needed.module);
            if (!tensors_.has(needed.module + ".weight") && !tensors_.has(needed.module + ".weight_packed")) {
                missing.push_back(needed.module + ".weight");
            }
        }
        for (const NeededVector& needed : list_.vectors) {
            known.insert(needed.tensor);
            known.insert(module_of(needed.tensor));
            if (needed.kind != VectorKind::cache_scale && !tensors_.has(needed.tensor))
                missing.push_back(needed.tensor);
        }
        if (missing.empty()) return;
        std::vector<std::string> instead;
        for (const std::string& tensor : tensors_.unused(part_of(missing.front()))) {
            const std::string module = module_of(tensor);
            // The parent of A_log and dt_bias is a whole layer's mixer: what lies directly in it has to be known
            // itself.
            const bool mixer = module.ends_with(".linear_attn") || module.ends_with(".self_attn");
            if (!known.contains(mixer ? tensor : module)) instead.push_back(tensors_.file_name(tensor));
        }
        fail(ErrorCode::invalid_file, "tensor {} is missing{}{}{}", tensors_.file_name(missing.front()),
             missing.size() > 1 ? fmt::format(" (and {} more)", missing.size() - 1) : "",
             instead.empty() ? ", though config.json asks for it" : "; tensors that are not known lie in its place: ",
             some_names(instead));
    }

    StoredTensor find_vector(const NeededVector& needed) {
        StoredTensor tensor = tensors_.take(needed.tensor);
        if (needed.kind == VectorKind::cache_scale) {
            // compressed-tensors puts it beside the projection: self_attn.k_scale.
            const std::string module = module_of(needed.tensor);
            if (!tensor) tensor = tensors_.take(module_of(module) + needed.tensor.substr(module.size()));
            if (!tensor) return tensor;
            check_float(tensor);
            const bool one = tensor.record->shape.empty() || tensor.record->shape == std::vector<int64_t>{1};
            if (!one) check_shape(tensor, {1});
            return tensor;
        }
        COLUGO_CHECK(tensor);  // refuse_missing has looked
        check_float(tensor);
        if (needed.kind == VectorKind::convolution && tensor.record->shape.size() == 2) {
            check_shape(tensor, {needed.shape[0], needed.shape[2]});
        } else {
            check_shape(tensor, needed.shape);
        }
        return tensor;
    }

    // The list has a layer's two side by side.
    void refuse_lone_cache_scale() const {
        for (size_t i = 1; i < vectors_.size(); ++i) {
            const auto is_scale = [this](size_t at) { return list_.vectors[at].kind == VectorKind::cache_scale; };
            if (!is_scale(i - 1) || !is_scale(i) || bool(vectors_[i - 1]) == bool(vectors_[i])) continue;
            const size_t there = vectors_[i] ? i : i - 1;
            const size_t missing = vectors_[i] ? i - 1 : i;
            fail(ErrorCode::invalid_file, "tensor {} is missing: {} is there and scales the other half of the cache",
                 tensors_.file_name(list_.vectors[missing].tensor), vectors_[there].record->name);
        }
    }

    // Every tensor left is named as ignored, or refused where leaving it out would change what a module computes.
    void settle_leftovers() {
        size_t visual = 0;
        std::vector<std::string> foreign;
        for (const std::string& name : tensors_.unused()) {
            const std::string file_name = tensors_.file_name(name);
            const bool mtp = name.starts_with("mtp.");
            if (name.starts_with("model.visual.") || name.starts_with("visual.")) {
                ++visual;
            } else if (name.ends_with(".rotary_emb.inv_freq") || (mtp && !report_.has_mtp)) {
                // Computed here, or of a head that is off.
            } else if (mtp || is_in_use(name)) {
                refuse_leftover(name, file_name);
            } else {
                foreign.push_back(file_name);
            }
            tensors_.ignore(name);
        }
        if (visual > 0) {
            report_.notices.push_back(
                fmt::format("{} tensors of the vision part are ignored: only text is served", visual));
        }
        if (!foreign.empty()) {
            report_.notices.push_back(fmt::format("{} tensors are ignored, as no part of the model has them: {}",
                                                  foreign.size(), some_names(foreign)));
        }
    }

    static bool is_in_use(const std::string& name) {
        for (const char* part : {"model.layers.", "model.embed_tokens.", "model.norm.", "lm_head."}) {
            if (name.starts_with(part)) return true;
        }
        return false;
    }

    [[noreturn]] void refuse_leftover(const std::string& name, const std::string& file_name) const {
        constexpr std::string_view kLayers = "model.layers.";
        if (name.starts_with(kLayers)) {
            const std::string layer = name.substr(kLayers.size(), name.find('.', kLayers.size()) - kLayers.size());
            const bool number = !layer.empty() && layer.size() < 6 &&
                                std::all_of(layer.begin(), layer.end(), [](char c) { return '0' <= c && c <= '9'; });
            if (number && std::stoll(layer) >= config_.num_hidden_layers) {
                fail(ErrorCode::invalid_file,
                     "tensor {} belongs to layer {}, but config.json says num_hidden_layers is {}", file_name, layer,
                     config_.num_hidden_layers);
            }
        }
        fail(ErrorCode::unsupported, "tensor {} is not supported: leaving it out would change what {} computes",
             file_name, module_of(file_name));
    }

    void fill_report(const CheckpointFiles& files, const QuantizationConfig& quantization) {
        for (size_t i = 0; i < linears_.size(); ++i) {
            // A quantized copy is what a tied checkpoint has a head for; a plain one is a surprise.
            const bool plain = linears_[i].format == WeightFormat::bf16 || linears_[i].format == WeightFormat::f32;
            if (list_.linears[i].module == "lm_head" && plain && config_.tie_word_embeddings.value_or(false)) {
                report_.notices.push_back(kOwnHead);
            }
        }
        for (const LinearPlan& plan : linears_) {
            report_.modules.push_back({plan.name, plan.scheme, plan.format, plan.activation, plan.n, plan.k,
                                       plan.file_bytes(), plan.packed_bytes()});
            report_.file_bytes += plan.file_bytes();
            report_.memory_bytes += plan.packed_bytes();
        }
        for (const StoredTensor& tensor : vectors_) {
            if (!tensor) continue;
            report_.file_bytes += tensor.record->length;
            report_.memory_bytes += tensor.record->length / dtype_size(*tensor.record->dtype) * sizeof(float);
        }
        report_.ignored = tensors_.ignored();
        const auto add = [this](const std::vector<std::string>& notices) {
            report_.notices.insert(report_.notices.end(), notices.begin(), notices.end());
        };
        add(files.notices());
        add(quantization.notices());
        add(module_notices_.sentences());
    }

    static void load_vector(const NeededVector& needed, const StoredTensor& tensor) {
        if (needed.kind == VectorKind::cache_scale) {
            *needed.scalar = read_scale(tensor);
            return;
        }
        std::vector<float> values = read_floats(tensor);
        if (needed.kind == VectorKind::negative_exp) {
            for (float& value : values) {
                // In double, so that the result is the nearest float whatever the library's expf does.
                value = -static_cast<float>(std::exp(static_cast<double>(value)));
                if (std::isfinite(value)) continue;
                fail(ErrorCode::invalid_file, "tensor {} holds a value whose exponential is not finite",
                     tensor.record->name);
            }
        }
        if (needed.kind == VectorKind::convolution) {
            const auto channels = static_cast<size_t>(needed.shape[0]);
            const auto taps = static_cast<size_t>(needed.shape[2]);
            std::vector<float> transposed(values.size());
            for (size_t i = 0; i < values.size(); ++i) transposed[i % taps * channels + i / taps] = values[i];
            values = std::move(transposed);
        }
        *needed.target = std::move(values);
    }

    // A tied checkpoint may still ship a head: kept once when it is the embedding, byte for byte.
    bool head_repeats_embedding(const LinearPlan& head, ThreadPool& threads) const {
        const LinearPlan& embedding = linears_.front();
        if (!config_.tie_word_embeddings.value_or(false) || head.scheme != embedding.scheme) return false;
        const std::span<const std::byte> a = head.weight.bytes();
        const std::span<const std::byte> b = embedding.weight.bytes();
        COLUGO_CHECK(a.size() == b.size());
        constexpr size_t kChunk = size_t{1} << 20;
        std::atomic<bool> equal{true};
        threads.parallel_for(static_cast<int>((a.size() + kChunk - 1) / kChunk), [&](int task, int) {
            const size_t begin = static_cast<size_t>(task) * kChunk;
            const size_t length = std::min(kChunk, a.size() - begin);
            if (!equal) return;
            if (std::memcmp(a.data() + begin, b.data() + begin, length) != 0) equal = false;
            head.weight.file->drop(*head.weight.record, begin, length);
            embedding.weight.file->drop(*embedding.weight.record, begin, length);
        });
        head.weight.drop();
        embedding.weight.drop();
        return equal;
    }

    void share_head(size_t index) {
        std::erase(report_.notices, kOwnHead);
        weights_.lm_head.reset();
        report_.tied_head = true;
        report_.memory_bytes -= linears_[index].packed_bytes();
        report_.modules.erase(report_.modules.begin() + static_cast<ptrdiff_t>(index));
        report_.notices.push_back(fmt::format("{} equals {} and is kept once", linears_[index].weight.record->name,
                                              linears_.front().weight.record->name));
    }

    const ModelConfig& config_;
    TensorIndex tensors_;
    ModelWeights weights_;
    WeightList list_;                    // points into weights_
    std::vector<LinearPlan> linears_;    // of list_.linears; the embedding is the first
    std::vector<StoredTensor> vectors_;  // of list_.vectors; empty for an absent cache scale
    ModuleNotices module_notices_;
    LoadReport report_;
};

WeightLoader::WeightLoader(const CheckpointFiles& files, const ModelConfig& config,
                           const QuantizationConfig& quantization, const LoadOptions& options)
    : plan_(std::make_unique<WeightPlan>(files, config, quantization, options)) {}
WeightLoader::~WeightLoader() = default;

const LoadReport& WeightLoader::report() const {
    return plan_->report();
}

const ModelWeights& WeightLoader::weights() const {
    return plan_->weights();
}

const LinearWeight& WeightLoader::linear(std::string_view module) const {
    return plan_->linear(module);
}

const StoredTensor& WeightLoader::stored(std::string_view module) const {
    return plan_->stored(module);
}

void WeightLoader::load(std::string_view prefix, ThreadPool& threads) {
    plan_->load_part(prefix, threads);
}

void WeightLoader::unload(std::string_view prefix) {
    plan_->unload_part(prefix);
}

LoadedWeights load_weights(const CheckpointFiles& files, const ModelConfig& config,
                           const QuantizationConfig& quantization, const LoadOptions& options, ThreadPool& threads) {
    return WeightPlan(files, config, quantization, options).load(options, threads);
}

LoadReport plan_weights(const CheckpointFiles& files, const ModelConfig& config, const QuantizationConfig& quantization,
                        const LoadOptions& options) {
    return std::move(WeightPlan(files, config, quantization, options).report());
}

}  // namespace colugo
