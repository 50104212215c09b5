#include "quant/quantization_plan.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/json_reader.h"
#include "checkpoint/linear_plan.h"
#include "checkpoint/tensor_index.h"
#include "checkpoint/weight_list.h"
#include "checkpoint/weights.h"
#include "quant/nvfp4.h"

namespace colugo {

namespace {

constexpr std::string_view kWeight = ".weight";
constexpr const char* kEmbedding = "model.embed_tokens";
constexpr const char* kHead = "lm_head";
constexpr const char* kPlainSource = "expected a checkpoint of plain BF16, F16 or F32 values";

// "model.layers.0.mlp" of "model.layers.0.mlp.up_proj"
std::string above(const std::string& name) {
    return name.substr(0, name.rfind('.'));
}

std::string last_part(const std::string& name) {
    return name.substr(name.rfind('.') + 1);
}

bool is_vision(const std::string& bare) {
    return bare.starts_with("model.visual.") || bare.starts_with("visual.");
}

bool is_quantized_type(std::string_view dtype_word) {
    return dtype_word == "U8" || dtype_word.starts_with("F8") || dtype_word.starts_with("F4");
}

// What a program that multiplies these layers in one go has to find stored alike.
constexpr const char* kMultipliedTogether[][3] = {{"q_proj", "k_proj", "v_proj"},
                                                  {"gate_proj", "up_proj", nullptr},
                                                  {"in_proj_qkv", "in_proj_z", nullptr},
                                                  {"in_proj_b", "in_proj_a", nullptr}};

class Planner {
 public:
    Planner(const CheckpointFiles& files, const ModelConfig& config, const Recipe& recipe)
        : files_(files), config_(config), recipe_(recipe), tensors_(files) {}

    QuantizationPlan plan(const QuantizationConfig& quantization) {
        refuse_quantized(quantization);
        // Finds all that is missing, misshapen or out of place. f32 keeps every value, so it has nothing to say of
        // them.
        const LoadReport source = plan_weights(files_, config_, quantization, {.compute = ComputeMode::f32});
        has_mtp_ = source.has_mtp;
        ModelWeights unfilled;
        const WeightList list = list_weights(unfilled, config_, true, has_mtp_);
        check_recipe(list);
        for (const NeededLinear& needed : list.linears) add_linear(needed);
        for (const NeededVector& needed : list.vectors) add_vector(needed);
        if (plan_.modules.empty() && plan_.cache_scales.empty()) {
            fail(ErrorCode::invalid_argument, "recipe {} quantizes nothing: no linear layer and no cache",
                 recipe_.name());
        }
        add_rest();
        plan_.declarations.kv_fp8 = !plan_.cache_scales.empty();
        note_differing_parts();
        lay_out();
        plan_.source_config = read_config_json(files_.directory());
        plan_.source_config_name = files_.directory() + "/config.json";
        return std::move(plan_);
    }

 private:
    void refuse_quantized(const QuantizationConfig& quantization) const {
        if (!quantization.empty()) {
            fail(ErrorCode::unsupported, "{} is quantized already, as its configuration declares; {}",
                 files_.directory(), kPlainSource);
        }
        for (const auto& [name, tensor] : files_.tensors()) {
            if (is_quantized_type(tensor.record->dtype_word)) {
                fail(ErrorCode::unsupported, "{} is quantized already: tensor {} has type {}; {}", files_.directory(),
                     name, tensor.record->dtype_word, kPlainSource);
            }
            if (name.ends_with(".k_scale") || name.ends_with(".v_scale")) {
                fail(ErrorCode::unsupported, "{} is quantized already: tensor {} scales a cache; {}",
                     files_.directory(), name, kPlainSource);
            }
        }
    }

    void check_recipe(const WeightList& list) {
        std::vector<std::string> modules;
        for (const NeededLinear& needed : list.linears) {
            if (!needed.is_table) modules.push_back(needed.module);
        }
        recipe_.check_patterns(modules);
        for (const std::string& module : modules) algos_[module] = recipe_.algo_of(module);
    }

    // The module's name in the files.
    std::string module_file_name(const std::string& module) const {
        const std::string weight = tensors_.file_name(module + std::string(kWeight));
        return weight.substr(0, weight.size() - kWeight.size());
    }

    void add_linear(const NeededLinear& needed) {
        const QuantAlgo algo = needed.is_table ? QuantAlgo::none : algos_.at(needed.module);
        StoredTensor source = tensors_.take(needed.module + std::string(kWeight));
        const std::string file_name = source ? module_file_name(needed.module) : needed.module;
        if (algo == QuantAlgo::none) {
            if (source) copy(source);
            if (!needed.is_table) exclude(needed.module, file_name);
            return;
        }
        if (needed.module == kHead) {
            plan_.unties_head = !source || config_.tie_word_embeddings.value_or(false);
            if (!source) source = tensors_.take(kEmbedding + std::string(kWeight));
        }
        COLUGO_CHECK(source);  // plan_weights has looked
        if (algo != QuantAlgo::fp8 && needed.k % kNvfp4Block != 0) {
            fail(ErrorCode::unsupported, "{} has {} inputs; expected a multiple of {} to store it as {}", file_name,
                 needed.k, kNvfp4Block, recipe_word(algo));
        }
        plan_.modules.push_back(
            {needed.module, file_name, source, static_cast<int>(needed.n), static_cast<int>(needed.k), algo});
        plan_.declarations.modules.push_back({file_name, algo});
        for (OutputTensor& tensor : module_tensors(plan_.modules.back())) add_output(std::move(tensor));
    }

    void add_vector(const NeededVector& needed) {
        if (needed.kind != VectorKind::cache_scale) {
            const StoredTensor source = tensors_.take(needed.tensor);
            COLUGO_CHECK(source);
            // Some programs hold the convolution in a module they would otherwise look for quantized.
            if (needed.kind == VectorKind::convolution) {
                plan_.declarations.excluded.push_back(module_file_name(above(needed.tensor)));
            }
            copy(source);
            return;
        }
        if (!recipe_.kv_fp8()) return;
        const std::string scale = module_file_name(above(needed.tensor)) + "." + last_part(needed.tensor);
        add_output({scale, DType::f32, {}});
        if (needed.tensor.ends_with(".k_scale")) {
            plan_.cache_scales.push_back({above(above(needed.tensor)), scale, ""});
        } else {
            plan_.cache_scales.back().v_scale = scale;  // the list has a layer's two side by side
        }
    }

    // The head's parts are excluded by one pattern where it stays as it is.
    void exclude(const std::string& module, const std::string& file_name) {
        if (module.starts_with("mtp.") && mtp_stays()) return;
        plan_.declarations.excluded.push_back(file_name);
    }

    bool mtp_stays() const {
        return std::all_of(algos_.begin(), algos_.end(), [](const auto& entry) {
            return !entry.first.starts_with("mtp.") || entry.second == QuantAlgo::none;
        });
    }

    // What no part of the model asks for: carried over where it is known, refused where it is not.
    void add_rest() {
        size_t vision = 0;
        if (tensors_.has_any("mtp.") && mtp_stays()) {
            const std::string fc = tensors_.file_name("mtp.fc.weight");
            plan_.declarations.excluded.push_back(fc.substr(0, fc.rfind("mtp.")) + "mtp*");
        }
        for (const std::string& name : tensors_.unused()) {
            const bool idle_mtp = name.starts_with("mtp.") && !has_mtp_;
            if (!is_vision(name) && !name.ends_with(".rotary_emb.inv_freq") && !idle_mtp) {
                fail(ErrorCode::unsupported, "tensor {} is not known: no part of the model has it",
                     tensors_.file_name(name));
            }
            vision += is_vision(name) ? 1 : 0;
            copy(tensors_.take(name));
        }
        if (vision > 0) plan_.declarations.excluded.push_back("*visual*");
        plan_.notices = files_.notices();
        if (vision > 0) plan_.notices.push_back(fmt::format("{} tensors of the vision part stay as they are", vision));
        if (tensors_.has_any("mtp.") && !has_mtp_) {
            plan_.notices.push_back("the mtp tensors stay as they are: config.json says mtp_num_hidden_layers is 0");
        }
    }

    void note_differing_parts() {
        ModuleNotices notices;
        for (const auto& parts : kMultipliedTogether) {
            for (const auto& [module, algo] : algos_) {
                if (last_part(module) != parts[0]) continue;
                std::vector<std::string> names;
                bool alike = true;
                for (const char* part : parts) {
                    if (part == nullptr) continue;
                    names.push_back(part);
                    alike &= algos_.at(above(module) + "." + part) == algo;
                }
                if (alike) continue;
                notices.add(fmt::format("{} are stored differently, which programs that multiply them in one go refuse",
                                        fmt::join(names, " and ")),
                            above(module_file_name(module)));
            }
        }
        for (std::string& sentence : notices.sentences()) plan_.notices.push_back(std::move(sentence));
    }

    void copy(const StoredTensor& source) {
        const TensorRecord& record = *source.record;
        if (!record.dtype) {
            fail(ErrorCode::unsupported, "tensor {} has type {}, which is not supported", record.name,
                 record.dtype_word);
        }
        plan_.copied.push_back({source, record.name});
        add_output({record.name, *record.dtype, record.shape});
    }

    void add_output(OutputTensor tensor) { plan_.outputs.push_back(std::move(tensor)); }

    // Where a tensor stands among the outputs.
    size_t place(const std::string& file_name) const {
        constexpr std::string_view kLayers = "model.layers.";
        const std::string name = bare_name(file_name);
        const auto layers = static_cast<size_t>(config_.num_hidden_layers);
        if (name.starts_with(kEmbedding)) return 0;
        if (name.starts_with(kLayers)) {
            size_t layer = 0;
            std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), layer);
            return 1 + layer;
        }
        if (name.starts_with("model.norm.")) return layers + 1;
        if (name.starts_with("lm_head.")) return layers + 2;
        return layers + (name.starts_with("mtp.") ? 3 : 4);
    }

    void lay_out() {
        const auto sort = [this](auto& tensors) {
            std::stable_sort(tensors.begin(), tensors.end(),
                             [this](const auto& a, const auto& b) { return place(a.name) < place(b.name); });
        };
        sort(plan_.outputs);
        sort(plan_.copied);
        for (const OutputTensor& tensor : plan_.outputs) plan_.output_bytes += tensor.bytes();
        for (const auto& [name, tensor] : files_.tensors()) plan_.source_bytes += tensor.record->length;
    }

    const CheckpointFiles& files_;
    const ModelConfig& config_;
    const Recipe& recipe_;
    TensorIndex tensors_;
    bool has_mtp_ = false;
    std::map<std::string, QuantAlgo> algos_;  // of every linear layer
    QuantizationPlan plan_;
};

// Where neither object says anything, readers may take the head for the embedding.
void untie(nlohmann::ordered_json& config) {
    constexpr const char* kKey = "tie_word_embeddings";
    bool said = false;
    for (nlohmann::ordered_json* object :
         {&config, config.contains("text_config") ? &config["text_config"] : nullptr}) {
        if (object == nullptr || !object->contains(kKey)) continue;
        (*object)[kKey] = false;
        said = true;
    }
    if (!said) config[kKey] = false;
}

}  // namespace

std::vector<OutputTensor> module_tensors(const ModulePlan& plan) {
    const std::string& name = plan.file_name;
    std::vector<OutputTensor> tensors;
    if (plan.algo == QuantAlgo::fp8) {
        tensors.push_back({name + ".weight", DType::fp8_e4m3, {plan.n, plan.k}});
        tensors.push_back({name + ".weight_scale", DType::f32, {}});
    } else {
        tensors.push_back({name + ".weight", DType::u8, {plan.n, plan.k / 2}});
        tensors.push_back({name + ".weight_scale", DType::fp8_e4m3, {plan.n, plan.k / kNvfp4Block}});
        tensors.push_back({name + ".weight_scale_2", DType::f32, {}});
    }
    if (plan.algo != QuantAlgo::w4a16) tensors.push_back({name + ".input_scale", DType::f32, {}});
    return tensors;
}

nlohmann::ordered_json QuantizationPlan::config_json() const {
    nlohmann::ordered_json config = parse_ordered_json(source_config, source_config_name);
    if (unties_head) untie(config);
    config["quantization_config"] = quantization_config(declarations);
    return config;
}

nlohmann::ordered_json QuantizationPlan::hf_quant_config() const {
    return colugo::hf_quant_config(declarations);
}

QuantizationPlan plan_quantization(const CheckpointFiles& files, const ModelConfig& config,
                                   const QuantizationConfig& quantization, const Recipe& recipe) {
    return Planner(files, config, recipe).plan(quantization);
}

}  // namespace colugo
