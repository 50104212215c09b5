// Which linear layer is quantized to what: a preset, or a TOML file
//
//     base = "nvfp4-w4a4"     # optional: begins with a preset; without it all that is not named stays as it is
//     kv = "none"             # or "fp8"; without it what the preset says, and "none" without a preset
//     [modules]
//     "mtp" = "none"          # the name of a layer, or of what it lies in
//     "*.linear_attn.*" = "fp8"
//
// Patterns are those of quantization configurations (checkpoint/name_pattern.h), over bare names; layers of the trunk
// go by their names under "language_model." too. A layer's own name decides before any pattern, a longer pattern before
// a shorter one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/name_pattern.h"
#include "checkpoint/quantization_config.h"

namespace colugo {

// "nvfp4-w4a4", "nvfp4-w4a16", "fp8" or "none": recipes' word.
std::string_view recipe_word(QuantAlgo algo);

class Recipe {
 public:
    // "nvfp4-w4a4", "nvfp4-w4a16" or "fp8": every linear layer but in_proj_a and in_proj_b, and an fp8 cache. Throws
    // invalid_argument for any other name.
    static Recipe preset(std::string_view name);
    // Throws not_found, or invalid_file naming the file and the key or value it does not take.
    static Recipe from_file(const std::string& path);
    // `source` is what errors call the text.
    static Recipe parse(std::string_view toml, const std::string& source);
    // A preset by its name, or else the file at this path.
    static Recipe named(const std::string& preset_or_path);

    // "fp8" or "none" in place of what the recipe says of keys and values. Throws invalid_argument for other words.
    void set_kv(std::string_view word);

    // The preset's name, or the path.
    const std::string& name() const { return name_; }
    bool kv_fp8() const { return kv_fp8_; }
    // Throws invalid_file when two equally long patterns say different things of the layer.
    QuantAlgo algo_of(const std::string& bare_module) const;
    // `bare_modules`: all linear layers of a model. Throws invalid_argument naming a pattern of the file that matches
    // none of them, or only such as other patterns decide.
    void check_patterns(const std::vector<std::string>& bare_modules) const;
    // All that decides, in one form however it was written; without the name.
    nlohmann::ordered_json json() const;

 private:
    struct Rule {
        NamePattern pattern;
        QuantAlgo algo;
        bool of_preset;
    };

    void add_rule(std::string pattern, QuantAlgo algo, bool of_preset);
    // Those that decide: none, or several that agree.
    std::vector<const Rule*> deciding(const std::string& bare_module) const;

    std::string name_;
    QuantAlgo default_algo_ = QuantAlgo::none;
    std::vector<Rule> rules_;  // by text
    bool kv_fp8_ = false;
};

}  // namespace colugo
