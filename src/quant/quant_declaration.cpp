#include "quant/quant_declaration.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "quant/nvfp4.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

// Readers go by the producer's name, and by the version where its forms differ: this is the form that is written.
ordered_json producer() {
    return {{"name", "modelopt"}, {"version", "0.41.0"}};
}

ordered_json layer(QuantAlgo algo) {
    ordered_json layer = {{"quant_algo", quant_algo_name(algo)}};
    if (algo != QuantAlgo::fp8) layer["group_size"] = kNvfp4Block;
    return layer;
}

ordered_json layers(const QuantDeclarations& declarations) {
    ordered_json layers = ordered_json::object();
    for (const DeclaredModule& module : declarations.modules) layers[module.name] = layer(module.algo);
    return layers;
}

ordered_json group(QuantAlgo algo, ordered_json targets) {
    ordered_json values = {{"dynamic", false}, {"num_bits", algo == QuantAlgo::fp8 ? 8 : 4}, {"type", "float"}};
    if (algo != QuantAlgo::fp8) values["group_size"] = kNvfp4Block;
    ordered_json group = ordered_json::object();
    if (algo != QuantAlgo::w4a16) group["input_activations"] = values;
    group["weights"] = std::move(values);
    group["targets"] = std::move(targets);
    return group;
}

bool is_mixed(const QuantDeclarations& declarations) {
    const std::vector<DeclaredModule>& modules = declarations.modules;
    return std::any_of(modules.begin(), modules.end(),
                       [&](const DeclaredModule& module) { return module.algo != modules.front().algo; });
}

// A group for each algorithm, in the order of the modules.
ordered_json groups(const QuantDeclarations& declarations) {
    if (!is_mixed(declarations)) {
        return {{"group_0", group(declarations.modules.front().algo, ordered_json::array({"Linear"}))}};
    }
    std::vector<std::pair<QuantAlgo, ordered_json>> targets;
    for (const DeclaredModule& module : declarations.modules) {
        auto found =
            std::find_if(targets.begin(), targets.end(), [&](const auto& entry) { return entry.first == module.algo; });
        if (found == targets.end()) found = targets.insert(found, {module.algo, ordered_json::array()});
        found->second.push_back(module.name);
    }
    ordered_json groups = ordered_json::object();
    for (size_t i = 0; i < targets.size(); ++i) {
        groups["group_" + std::to_string(i)] = group(targets[i].first, std::move(targets[i].second));
    }
    return groups;
}

std::string_view algo_word(const QuantDeclarations& declarations) {
    return is_mixed(declarations) ? "MIXED_PRECISION" : quant_algo_name(declarations.modules.front().algo);
}

}  // namespace

ordered_json hf_quant_config(const QuantDeclarations& declarations) {
    ordered_json quantization = {{"quant_algo", nullptr}, {"kv_cache_quant_algo", nullptr}};
    if (declarations.kv_fp8) quantization["kv_cache_quant_algo"] = "FP8";
    const bool mixed = is_mixed(declarations);
    if (!declarations.modules.empty()) {
        quantization["quant_algo"] = algo_word(declarations);
        if (!mixed && declarations.modules.front().algo != QuantAlgo::fp8) quantization["group_size"] = kNvfp4Block;
    }
    quantization["exclude_modules"] = declarations.excluded;
    if (mixed) quantization["quantized_layers"] = layers(declarations);
    return {{"producer", producer()}, {"quantization", std::move(quantization)}};
}

ordered_json quantization_config(const QuantDeclarations& declarations) {
    ordered_json config = {{"quant_method", "modelopt"}};
    if (!declarations.modules.empty()) {
        config["quant_algo"] = algo_word(declarations);
        config["config_groups"] = groups(declarations);
        if (is_mixed(declarations)) config["quantized_layers"] = layers(declarations);
    }
    config["ignore"] = declarations.excluded;
    if (declarations.kv_fp8) config["kv_cache_scheme"] = {{"dynamic", false}, {"num_bits", 8}, {"type", "float"}};
    config["producer"] = producer();
    return config;
}

}  // namespace colugo
