// Plans of the tiny checkpoint, in the forms it is published in.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tiny_checkpoint.h"
#include "quant/quantization_plan.h"

namespace colugo::testing {

// A checkpoint on disk and a plan that borrows it.
struct Planned {
    Planned(const TinyCheckpoint& checkpoint, const Recipe& recipe) { make(checkpoint, recipe); }
    Planned(const TinyCheckpoint& checkpoint, std::string_view toml) {
        make(checkpoint, Recipe::parse(toml, "r.toml"));
    }

    const ModulePlan& module(const std::string& name) const {
        for (const ModulePlan& module : plan.modules) {
            if (module.module == name) return module;
        }
        throw std::runtime_error("no module " + name);
    }
    std::vector<std::string> output_names() const {
        std::vector<std::string> names;
        for (const OutputTensor& tensor : plan.outputs) names.push_back(tensor.name);
        return names;
    }

    TempFolder folder;
    std::unique_ptr<CheckpointFiles> files;
    QuantizationPlan plan;

 private:
    void make(const TinyCheckpoint& checkpoint, const Recipe& recipe) {
        checkpoint.write(folder);
        files = std::make_unique<CheckpointFiles>(folder.path());
        plan = plan_quantization(*files, read_model_config(folder.path()), read_quantization_config(folder.path()),
                                 recipe);
    }
};

inline Planned preset(const TinyCheckpoint& checkpoint, const char* name) {
    return Planned(checkpoint, Recipe::preset(name));
}

inline TinyCheckpoint tied_checkpoint() {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.erase("lm_head");
    checkpoint.config["tie_word_embeddings"] = true;
    return checkpoint;
}

// As published: text_config inside, another prefix, a vision part.
inline TinyCheckpoint wrapped_checkpoint() {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    nlohmann::json text = std::move(checkpoint.config);
    checkpoint.config = {{"model_type", "qwen3_5"}, {"tie_word_embeddings", false}, {"text_config", std::move(text)}};
    TestTensors renamed;
    for (auto& [name, tensor] : checkpoint.tensors) {
        renamed[name.starts_with("model.") ? "model.language_model." + name.substr(6) : name] = std::move(tensor);
    }
    renamed["model.visual.blocks.0.attn.qkv.weight"] = {"BF16", {2, 3}, std::string(12, 'v')};
    renamed["model.visual.pos_embed.weight"] = {"F32", {1}, std::string(4, 'p')};
    checkpoint.tensors = std::move(renamed);
    return checkpoint;
}

}  // namespace colugo::testing
