// Everything about a quantization that the headers and a recipe decide: what each linear layer becomes, every tensor of
// the new checkpoint, and what the new checkpoint says of itself. Nothing but headers is read.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/model_config.h"
#include "checkpoint/quantization_config.h"
#include "quant/output_tensor.h"
#include "quant/quant_declaration.h"
#include "quant/recipe.h"

namespace colugo {

// A linear layer that is quantized.
struct ModulePlan {
    std::string module;     // bare name: "model.layers.0.mlp.up_proj"
    std::string file_name;  // its name in the new checkpoint, which keeps the source's prefix; tensors add a suffix
    StoredTensor source;    // [n, k] f32, f16 or bf16
    int n = 0;
    int k = 0;
    QuantAlgo algo = QuantAlgo::none;  // nvfp4, w4a16 or fp8
};

// What the module is stored as, named file_name + suffix:
//   nvfp4  ".weight" u8 [n, k / 2], ".weight_scale" e4m3 [n, k / 16], ".weight_scale_2" f32 [], ".input_scale" f32 []
//   w4a16  the same without ".input_scale"
//   fp8    ".weight" e4m3 [n, k], ".weight_scale" f32 [], ".input_scale" f32 []
std::vector<OutputTensor> module_tensors(const ModulePlan& plan);

// The two scales of a full-attention layer's fp8 cache, f32 [] each.
struct CacheScalePlan {
    std::string attention;  // bare name: "model.layers.3.self_attn"
    std::string k_scale;    // names of the tensors in the new checkpoint
    std::string v_scale;
};

// A tensor that is carried over byte for byte.
struct CopiedTensor {
    StoredTensor source;
    std::string name;  // in the new checkpoint
};

// Borrows the CheckpointFiles it was made from.
struct QuantizationPlan {
    std::vector<ModulePlan> modules;           // layers in their order, then lm_head, then the MTP head
    std::vector<CacheScalePlan> cache_scales;  // in the same order; none without an fp8 cache
    std::vector<CopiedTensor> copied;
    // All tensors of the new checkpoint: the embedding, layer after layer, the last norm, lm_head, the MTP head, the
    // rest.
    std::vector<OutputTensor> outputs;
    uint64_t output_bytes = 0;  // of all outputs
    uint64_t source_bytes = 0;  // of all tensors of the source
    // config.json has to stop saying that the head is the embedding.
    bool unties_head = false;
    std::vector<std::string> notices;  // a sentence each, for the user

    QuantDeclarations declarations;
    std::string source_config;  // text of the source's config.json
    std::string source_config_name;

    // The source's config.json, its keys in their order, with the quantization declared.
    nlohmann::ordered_json config_json() const;
    // hf_quant_config.json
    nlohmann::ordered_json hf_quant_config() const;
};

// Throws unsupported for a source that is quantized already, a tensor no part of the model has, or a layer whose inputs
// do not divide into blocks; invalid_argument for a recipe that quantizes nothing or has a pattern without effect; and
// what plan_weights throws for a source that cannot be loaded.
QuantizationPlan plan_quantization(const CheckpointFiles& files, const ModelConfig& config,
                                   const QuantizationConfig& quantization, const Recipe& recipe);

}  // namespace colugo
