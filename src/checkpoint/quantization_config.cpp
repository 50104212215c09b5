#include "checkpoint/quantization_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/json_reader.h"
#include "checkpoint/model_config.h"

namespace colugo {

using nlohmann::json;

namespace {

constexpr int64_t kNvfp4Group = 16;
constexpr int64_t kFp8Block = 128;
constexpr int64_t kMaxGroup = int64_t{1} << 20;
constexpr const char* kConfigName = "config.json";
constexpr const char* kHfQuantName = "hf_quant_config.json";
constexpr const char* kModelOptAlgos = "accepted: NVFP4, W4A16_NVFP4, FP8 and MIXED_PRECISION";

std::optional<QuantAlgo> modelopt_algo(std::string_view word) {
    if (word == "NVFP4") return QuantAlgo::nvfp4;
    if (word == "W4A16_NVFP4") return QuantAlgo::w4a16;
    if (word == "FP8") return QuantAlgo::fp8;
    return std::nullopt;
}

}  // namespace

std::string_view quant_algo_name(QuantAlgo algo) {
    switch (algo) {
        case QuantAlgo::none:
            return "not quantized";
        case QuantAlgo::nvfp4:
            return "NVFP4";
        case QuantAlgo::w4a16:
            return "W4A16_NVFP4";
        case QuantAlgo::fp8:
            return "FP8";
        case QuantAlgo::fp8_block:
            return "FP8 in 128x128 blocks";
    }
    return "unknown";
}

// Fills a QuantizationConfig from one of the published forms.
class QuantizationParser {
 public:
    explicit QuantizationParser(QuantizationConfig& result) : result_(result) {}

    // ModelOpt's own form, nested in hf_quant_config.json and flat in config.json.
    void modelopt(const JsonFields& fields, const std::string& source) {
        result_.source_ = source;
        exclude(fields, "exclude_modules");
        exclude(fields, "ignore");
        const std::string algo = fields.string("quant_algo").value_or("");
        if (algo == "MIXED_PRECISION") {
            modelopt_layers(fields);
        } else if (!algo.empty()) {
            result_.default_algo_ = checked_modelopt(fields, "quant_algo", algo);
            check_group(fields);
        }
        kv_cache(fields);
    }

    void compressed_tensors(const JsonFields& fields) {
        result_.source_ = kConfigName;
        check_format(fields);
        refuse_filled(fields, "transform_config");
        if (const auto sparsity = fields.object("sparsity_config")) {
            const std::string format = sparsity->string("format").value_or("dense");
            if (format != "dense") {
                fail(ErrorCode::unsupported, "{} '{}' is not supported; accepted: dense", sparsity->where("format"),
                     format);
            }
        }
        exclude(fields, "ignore");
        const auto groups = fields.object("config_groups");
        if (!groups) fields.refuse("config_groups", "an object");
        for (const std::string& name : groups->keys()) {
            const auto group = groups->object(name.c_str());
            if (!group) groups->refuse(name.c_str(), "an object");
            compressed_group(*group);
        }
        kv_cache(fields);
    }

    void fp8(const JsonFields& fields) {
        result_.source_ = kConfigName;
        const std::string format = fields.string("fmt").value_or("e4m3");
        if (format != "e4m3" && format != "float8_e4m3fn") {
            fail(ErrorCode::unsupported, "{} '{}' is not supported; accepted: e4m3", fields.where("fmt"), format);
        }
        exclude(fields, "modules_to_not_convert");
        exclude(fields, "ignored_layers");
        const json* block = fields.get("weight_block_size");
        result_.default_algo_ = block ? QuantAlgo::fp8_block : QuantAlgo::fp8;
        if (block && *block != json::array({kFp8Block, kFp8Block})) {
            fail(ErrorCode::unsupported, "{} {} is not supported; accepted: [128, 128]",
                 fields.where("weight_block_size"), json_excerpt(*block));
        }
        const std::string activations = fields.string("activation_scheme").value_or("dynamic");
        if (activations != "dynamic" && (block || activations != "static")) {
            fail(ErrorCode::unsupported, "{} '{}' is not supported; accepted: {}", fields.where("activation_scheme"),
                 activations, block ? "dynamic" : "static and dynamic");
        }
        kv_cache(fields);
    }

    void sort_rules() {
        std::stable_sort(result_.rules_.begin(), result_.rules_.end(), [](const auto& a, const auto& b) {
            return a.pattern.text().size() > b.pattern.text().size();
        });
    }

 private:
    void exclude(const JsonFields& fields, const char* key) {
        for (std::string& pattern : fields.strings(key).value_or(std::vector<std::string>{})) {
            result_.excluded_.emplace_back(std::move(pattern), fields.where(key));
        }
    }

    QuantAlgo checked_modelopt(const JsonFields& fields, const char* key, const std::string& word) {
        const std::optional<QuantAlgo> algo = modelopt_algo(word);
        if (!algo) {
            fail(ErrorCode::unsupported, "{} '{}' is not supported; {}", fields.where(key), word, kModelOptAlgos);
        }
        return *algo;
    }

    void check_group(const JsonFields& fields) {
        const int64_t group = fields.integer("group_size", 0, kMaxGroup).value_or(kNvfp4Group);
        const bool used = result_.default_algo_ == QuantAlgo::nvfp4 || result_.default_algo_ == QuantAlgo::w4a16;
        if (used) check_group_size(fields, group);
    }

    void check_group_size(const JsonFields& fields, int64_t group) {
        if (group == kNvfp4Group) return;
        fail(ErrorCode::unsupported, "{} {} is not supported; accepted: {}", fields.where("group_size"), group,
             kNvfp4Group);
    }

    void modelopt_layers(const JsonFields& fields) {
        const auto layers = fields.object("quantized_layers");
        if (!layers) fields.refuse("quantized_layers", "an object, because quant_algo is MIXED_PRECISION");
        for (const std::string& name : layers->keys()) {
            const auto layer = layers->object(name.c_str());
            if (!layer) layers->refuse(name.c_str(), "an object");
            const std::string word = layer->string("quant_algo").value_or("");
            const QuantAlgo algo = checked_modelopt(*layer, "quant_algo", word);
            if (algo != QuantAlgo::fp8) {
                check_group_size(*layer, layer->integer("group_size", 0, kMaxGroup).value_or(kNvfp4Group));
            }
            result_.rules_.push_back({NamePattern(name, fields.source()), algo});
        }
    }

    void check_format(const JsonFields& fields) {
        const std::string format = fields.string("format").value_or("nvfp4-pack-quantized");
        if (format != "nvfp4-pack-quantized") {
            fail(ErrorCode::unsupported, "{} '{}' is not supported; accepted: nvfp4-pack-quantized",
                 fields.where("format"), format);
        }
    }

    void refuse_filled(const JsonFields& fields, const char* key) {
        const json* value = fields.get(key);
        if (value && !value->empty()) {
            fail(ErrorCode::unsupported, "{} is {}, which is not supported; accepted: empty", fields.where(key),
                 json_excerpt(*value));
        }
    }

    void compressed_group(const JsonFields& group) {
        check_format(group);
        refuse_filled(group, "output_activations");
        const auto weights = group.object("weights");
        if (!weights) group.refuse("weights", "an object");
        check_fp4(*weights);
        const auto activations = group.object("input_activations");
        if (activations) check_fp4(*activations);
        const QuantAlgo algo = activations ? QuantAlgo::nvfp4 : QuantAlgo::w4a16;
        for (std::string& target : group.strings("targets").value_or(std::vector<std::string>{"Linear"})) {
            if (target == "Linear") {
                result_.default_algo_ = algo;
            } else {
                result_.rules_.push_back({NamePattern(std::move(target), group.where("targets")), algo});
            }
        }
    }

    void check_fp4(const JsonFields& values) {
        const int64_t bits = values.required_integer("num_bits", 1, 64);
        const std::string type = values.string("type").value_or("");
        if (bits != 4 || type != "float") {
            fail(ErrorCode::unsupported, "{} {} of type '{}' is not supported; accepted: 4 of type 'float'",
                 values.where("num_bits"), bits, type);
        }
        check_group_size(values, values.integer("group_size", 0, kMaxGroup).value_or(kNvfp4Group));
        const std::string strategy = values.string("strategy").value_or("tensor_group");
        if (strategy != "tensor_group" && strategy != "group") {
            fail(ErrorCode::unsupported, "{} '{}' is not supported; accepted: tensor_group", values.where("strategy"),
                 strategy);
        }
        if (!values.boolean("symmetric").value_or(true)) {
            fail(ErrorCode::unsupported, "{} false is not supported; accepted: true", values.where("symmetric"));
        }
    }

    void kv_cache(const JsonFields& fields) {
        if (const auto algo = fields.string("kv_cache_quant_algo")) {
            result_.kv_cache_algo_ = *algo;
        } else if (const auto scheme = fields.object("kv_cache_scheme")) {
            const int64_t bits = scheme->integer("num_bits", 1, 64).value_or(0);
            const bool is_static = !scheme->boolean("dynamic").value_or(false);
            const bool fp8 = bits == 8 && scheme->string("type") == "float" && is_static;
            result_.kv_cache_algo_ = fp8 ? "FP8" : json_excerpt(*fields.get("kv_cache_scheme"));
        }
        if (!result_.kv_cache_algo_.empty() && result_.kv_cache_algo_ != "FP8") {
            result_.notices_.push_back(
                fmt::format("{} declares a cache of {}, which is not supported: keys and values "
                            "are stored in bf16 unless asked otherwise",
                            fields.source(), result_.kv_cache_algo_));
        }
    }

    QuantizationConfig& result_;
};

QuantizationConfig::QuantizationConfig(std::string_view config_json, const std::optional<std::string>& hf_quant_json,
                                       const std::string& directory) {
    const std::string config_name = directory + kConfigName;
    const std::string hf_quant_name = directory + kHfQuantName;
    const json config = parse_json_object(config_json, config_name);
    const JsonFields top(config, config_name);
    auto declared = top.object("quantization_config");
    if (!declared) {
        if (const auto text = top.object("text_config")) declared = text->object("quantization_config");
    }
    QuantizationParser parser(*this);
    std::string method;
    if (declared) {
        method = declared->string("quant_method").value_or("");
        if (method == "modelopt") {
            parser.modelopt(*declared, kConfigName);
        } else if (method == "compressed-tensors") {
            parser.compressed_tensors(*declared);
        } else if (method == "fp8") {
            parser.fp8(*declared);
        } else {
            fail(ErrorCode::unsupported, "{} '{}' is not supported; accepted: modelopt, compressed-tensors and fp8",
                 declared->where("quant_method"), method);
        }
    }
    if (hf_quant_json) {
        if (declared && method != "modelopt") {
            fail(ErrorCode::invalid_file,
                 "{} is ModelOpt's, but {} is '{}'; expected modelopt, or one of the two files", hf_quant_name,
                 declared->where("quant_method"), method);
        }
        const json document = parse_json_object(*hf_quant_json, hf_quant_name);
        const JsonFields file(document, hf_quant_name);
        const auto quantization = file.object("quantization");
        if (!quantization) file.refuse("quantization", "an object");
        const std::string first = declared ? declared->string("quant_algo").value_or("") : "";
        const std::string second = quantization->string("quant_algo").value_or("");
        if (declared && declared->has("quant_algo") && first != second) {
            fail(ErrorCode::invalid_file, "{} is '{}' but {} is '{}'; expected the same", declared->where("quant_algo"),
                 first, quantization->where("quant_algo"), second);
        }
        QuantizationConfig from_file;
        QuantizationParser(from_file).modelopt(*quantization, kHfQuantName);
        if (declared && kv_cache_algo_ != from_file.kv_cache_algo_) {
            from_file.notices_.push_back(
                fmt::format("{} and {} disagree about the cache ('{}' and '{}'): the first is followed", hf_quant_name,
                            config_name, from_file.kv_cache_algo_, kv_cache_algo_));
        }
        *this = std::move(from_file);
    }
    QuantizationParser(*this).sort_rules();
}

QuantDeclaration QuantizationConfig::declared(const std::vector<std::string>& names) const {
    if (empty()) return {};
    const auto by_rule = [this](const Rule& rule, bool by_name) -> QuantDeclaration {
        return {rule.algo, by_name, fmt::format("{} declares it {}", source_, quant_algo_name(rule.algo))};
    };
    // The module's own name says more than any pattern.
    for (const Rule& rule : rules_) {
        if (std::find(names.begin(), names.end(), rule.pattern.text()) != names.end()) return by_rule(rule, true);
    }
    for (const NamePattern& pattern : excluded_) {
        if (pattern.matches(names)) {
            return {QuantAlgo::none, true, fmt::format("{} excludes it by \"{}\"", source_, pattern.text())};
        }
    }
    for (const Rule& rule : rules_) {
        if (rule.pattern.matches(names)) return by_rule(rule, false);
    }
    return {default_algo_, false, fmt::format("{} declares it {}", source_, quant_algo_name(default_algo_))};
}

QuantizationConfig read_quantization_config(const std::string& directory) {
    constexpr uint64_t kMaxBytes = uint64_t{16} << 20;
    return QuantizationConfig(read_config_json(directory), read_text_file(directory + "/" + kHfQuantName, kMaxBytes),
                              directory + "/");
}

}  // namespace colugo
