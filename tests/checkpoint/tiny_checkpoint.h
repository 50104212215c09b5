// A checkpoint of two layers, small enough to be written for every test and open to every mutation: bf16, untied, with
// an MTP head. Output counts are no multiples of 16, as in real checkpoints' smallest projections.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/weights.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace colugo::testing {

inline constexpr int64_t kTinyVocab = 40;
inline constexpr int64_t kTinyHidden = 64;
inline constexpr int64_t kTinyIntermediate = 96;

struct TinyCheckpoint {
    nlohmann::json config;
    nlohmann::json hf_quant;  // written as hf_quant_config.json unless null
    TestTensors tensors;

    // Takes out a tensor, or every tensor of a module ("lm_head").
    void erase(const std::string& name);
    void rename(const std::string& from, const std::string& to);

    // Replace a module's weight by random codes with fixed scales, without declaring it.
    void store_nvfp4(const std::string& module);
    void store_compressed_nvfp4(const std::string& module);
    void store_fp8(const std::string& module);
    void store_fp8_block(const std::string& module);
    // Declares the modules that are listed, by name, and nothing else, in ModelOpt's way.
    void declare(const std::vector<std::pair<std::string, std::string>>& algos);
    void scalar(const std::string& name, float value);

    void write(const TempFolder& folder) const;
    LoadedWeights load(const LoadOptions& options = {}) const;
    LoadReport plan(const LoadOptions& options = {}) const;
};

TinyCheckpoint tiny_checkpoint();

// Bytes that look random and are the same for the same name.
std::string random_bytes(size_t count, const std::string& name);

inline constexpr float kTinyWeightScale = 0.01f;
inline constexpr float kTinyInputScale = 0.03f;

}  // namespace colugo::testing
