// What a checkpoint declares about the storage of its linear layers: hf_quant_config.json (ModelOpt) and config.json's
// quantization_config (ModelOpt, compressed-tensors, fp8). The tensors decide how a module is read; the declaration
// decides between 4-bit and wider activations, and a contradiction between the two is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/name_pattern.h"

namespace colugo {

enum class QuantAlgo : uint8_t {
    none,
    nvfp4,      // 4-bit weights and activations
    w4a16,      // 4-bit weights, activations as computed
    fp8,        // one scale for each tensor; static activation scale
    fp8_block,  // one scale for each 128 x 128 block; activations scaled per row and 128 columns
};

std::string_view quant_algo_name(QuantAlgo algo);

struct QuantDeclaration {
    QuantAlgo algo = QuantAlgo::none;
    bool by_name = false;  // the file lists this very module, rather than all that nothing excludes
    std::string reason;    // "hf_quant_config.json declares it NVFP4": the beginning of a sentence
};

class QuantizationConfig {
 public:
    // config_json: the text of config.json. hf_quant_json: of hf_quant_config.json, which wins where both are there;
    // they have to agree on the algorithm. Throws invalid_file or unsupported: a method, algorithm, group or block size
    // this program does not read is named with what it accepts. directory: what the files' names are told with.
    QuantizationConfig() = default;
    QuantizationConfig(std::string_view config_json, const std::optional<std::string>& hf_quant_json,
                       const std::string& directory = "");

    // True when neither file declares a quantization.
    bool empty() const { return source_.empty(); }
    // Of a linear layer with these names (module_names in tensor_index.h).
    QuantDeclaration declared(const std::vector<std::string>& names) const;
    // "FP8", another word the file uses, or empty: the type the publisher meant keys and values to be stored in.
    const std::string& kv_cache_algo() const { return kv_cache_algo_; }
    const std::vector<std::string>& notices() const { return notices_; }

 private:
    friend class QuantizationParser;
    struct Rule {
        NamePattern pattern;
        QuantAlgo algo;
    };

    std::string source_;
    QuantAlgo default_algo_ = QuantAlgo::none;
    std::vector<NamePattern> excluded_;
    std::vector<Rule> rules_;  // by length of the pattern, longest first; before default_algo_
    std::string kv_cache_algo_;
    std::vector<std::string> notices_;
};

// Of a checkpoint folder.
QuantizationConfig read_quantization_config(const std::string& directory);

}  // namespace colugo
