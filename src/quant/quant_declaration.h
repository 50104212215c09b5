// What a quantized checkpoint says of itself, in the two forms ModelOpt writes (qwen35.md 7.5): hf_quant_config.json,
// and quantization_config in config.json. Names are those of the checkpoint's files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "checkpoint/quantization_config.h"

namespace colugo {

struct DeclaredModule {
    std::string name;
    QuantAlgo algo;  // nvfp4, w4a16 or fp8
};

struct QuantDeclarations {
    std::vector<DeclaredModule> modules;  // every quantized one
    std::vector<std::string> excluded;    // names and globs of what is not
    bool kv_fp8 = false;
};

nlohmann::ordered_json hf_quant_config(const QuantDeclarations& declarations);
nlohmann::ordered_json quantization_config(const QuantDeclarations& declarations);

}  // namespace colugo
