#include "quant/recipe.h"

#include <toml++/toml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/tensor_index.h"

namespace colugo {

namespace {

constexpr uint64_t kMaxRecipeBytes = uint64_t{1} << 20;
constexpr QuantAlgo kAlgos[] = {QuantAlgo::nvfp4, QuantAlgo::w4a16, QuantAlgo::fp8, QuantAlgo::none};
constexpr const char* kPresets = "nvfp4-w4a4, nvfp4-w4a16 and fp8";

std::optional<QuantAlgo> algo_of_word(std::string_view word) {
    for (const QuantAlgo algo : kAlgos) {
        if (word == recipe_word(algo)) return algo;
    }
    return std::nullopt;
}

bool is_preset(std::string_view name) {
    const std::optional<QuantAlgo> algo = algo_of_word(name);
    return algo && *algo != QuantAlgo::none;
}

std::optional<bool> kv_of_word(std::string_view word) {
    if (word == "fp8") return true;
    if (word == "none") return false;
    return std::nullopt;
}

// The names a recipe may call a layer by. "model.lm_head" is not one of them: "model.*" means the trunk.
std::vector<std::string> names_of(const std::string& bare_module) {
    return bare_module.starts_with("model.") ? module_names(bare_module) : std::vector<std::string>{bare_module};
}

// `where` begins a sentence about the value.
std::string text_of(const toml::node& value, const std::string& where, const char* accepted) {
    if (const auto* text = value.as_string()) return text->get();
    if (value.is_table()) {
        fail(ErrorCode::invalid_file, "{} is a table; accepted: {} (a name with dots is written in quotes)", where,
             accepted);
    }
    fail(ErrorCode::invalid_file, "{} is no text; accepted: {}", where, accepted);
}

}  // namespace

std::string_view recipe_word(QuantAlgo algo) {
    switch (algo) {
        case QuantAlgo::none:
            return "none";
        case QuantAlgo::nvfp4:
            return "nvfp4-w4a4";
        case QuantAlgo::w4a16:
            return "nvfp4-w4a16";
        case QuantAlgo::fp8:
            return "fp8";
        case QuantAlgo::fp8_block:
            break;
    }
    COLUGO_CHECK(!"a format no recipe gives");
    return "";
}

Recipe Recipe::preset(std::string_view name) {
    if (!is_preset(name)) {
        fail(ErrorCode::invalid_argument, "recipe '{}' is not known; accepted: {}", name, kPresets);
    }
    Recipe recipe;
    recipe.name_ = name;
    recipe.default_algo_ = *algo_of_word(name);
    recipe.kv_fp8_ = true;
    // A row a head: nothing to save, and how fast a state fades and is rewritten hangs on them.
    recipe.add_rule("*.linear_attn.in_proj_a", QuantAlgo::none, true);
    recipe.add_rule("*.linear_attn.in_proj_b", QuantAlgo::none, true);
    return recipe;
}

Recipe Recipe::parse(std::string_view text, const std::string& source) {
    toml::table document;
    try {
        document = toml::parse(text, source);
    } catch (const toml::parse_error& error) {
        const toml::source_position at = error.source().begin;
        fail(ErrorCode::invalid_file, "{}: line {}, column {}: {}", source, at.line, at.column, error.description());
    }
    for (const auto& [key, value] : document) {
        if (key != "base" && key != "kv" && key != "modules") {
            fail(ErrorCode::invalid_file, "{}: {} is not a key of a recipe; accepted: base, kv and modules", source,
                 key.str());
        }
    }
    Recipe recipe;
    if (const toml::node* base = document.get("base")) {
        const std::string where = source + ": base";
        const std::string name = text_of(*base, where, kPresets);
        if (!is_preset(name)) fail(ErrorCode::invalid_file, "{} is '{}'; accepted: {}", where, name, kPresets);
        recipe = preset(name);
    }
    recipe.name_ = source;
    if (const toml::node* kv = document.get("kv")) {
        const std::string where = source + ": kv";
        const std::string word = text_of(*kv, where, "fp8 and none");
        const std::optional<bool> fp8 = kv_of_word(word);
        if (!fp8) fail(ErrorCode::invalid_file, "{} is '{}'; accepted: fp8 and none", where, word);
        recipe.kv_fp8_ = *fp8;
    }
    if (const toml::node* modules = document.get("modules")) {
        constexpr const char* kWords = "nvfp4-w4a4, nvfp4-w4a16, fp8 and none";
        if (!modules->is_table()) fail(ErrorCode::invalid_file, "{}: modules is no table", source);
        for (const auto& [pattern, value] : *modules->as_table()) {
            const std::string where = fmt::format("{}: modules.\"{}\"", source, pattern.str());
            const std::string word = text_of(value, where, kWords);
            const std::optional<QuantAlgo> algo = algo_of_word(word);
            if (!algo) fail(ErrorCode::invalid_file, "{} is '{}'; accepted: {}", where, word, kWords);
            recipe.add_rule(std::string(pattern.str()), *algo, false);
        }
    }
    return recipe;
}

Recipe Recipe::from_file(const std::string& path) {
    const std::optional<std::string> text = read_text_file(path, kMaxRecipeBytes);
    if (!text) fail(ErrorCode::not_found, "recipe {} does not exist; accepted: {}, or a TOML file", path, kPresets);
    return parse(*text, path);
}

Recipe Recipe::named(const std::string& preset_or_path) {
    return is_preset(preset_or_path) ? preset(preset_or_path) : from_file(preset_or_path);
}

void Recipe::set_kv(std::string_view word) {
    const std::optional<bool> fp8 = kv_of_word(word);
    if (!fp8) fail(ErrorCode::invalid_argument, "kv is '{}'; accepted: fp8 and none", word);
    kv_fp8_ = *fp8;
}

void Recipe::add_rule(std::string pattern, QuantAlgo algo, bool of_preset) {
    Rule rule{NamePattern(std::move(pattern), name_), algo, of_preset};
    const auto at = std::lower_bound(rules_.begin(), rules_.end(), rule,
                                     [](const Rule& a, const Rule& b) { return a.pattern.text() < b.pattern.text(); });
    if (at != rules_.end() && at->pattern.text() == rule.pattern.text()) {
        *at = std::move(rule);  // the file's word for a pattern of the preset
    } else {
        rules_.insert(at, std::move(rule));
    }
}

std::vector<const Recipe::Rule*> Recipe::deciding(const std::string& bare_module) const {
    const std::vector<std::string> names = names_of(bare_module);
    using Rank = std::tuple<bool, size_t, bool>;  // the layer's own name, the pattern's length, the file's
    std::vector<const Rule*> best;
    Rank best_rank;
    for (const Rule& rule : rules_) {
        if (!rule.pattern.matches(names)) continue;
        const std::string& text = rule.pattern.text();
        const bool own_name = std::find(names.begin(), names.end(), text) != names.end();
        const Rank rank(own_name, text.size(), !rule.of_preset);
        if (!best.empty() && rank < best_rank) continue;
        if (best.empty() || rank > best_rank) best.clear();
        best.push_back(&rule);
        best_rank = rank;
    }
    for (const Rule* rule : best) {
        if (rule->algo == best.front()->algo) continue;
        fail(ErrorCode::invalid_file,
             "{}: \"{}\" and \"{}\" are equally long, and say different things of {}; expected one that is longer",
             name_, best.front()->pattern.text(), rule->pattern.text(), bare_module);
    }
    return best;
}

QuantAlgo Recipe::algo_of(const std::string& bare_module) const {
    const std::vector<const Rule*> rules = deciding(bare_module);
    return rules.empty() ? default_algo_ : rules.front()->algo;
}

void Recipe::check_patterns(const std::vector<std::string>& bare_modules) const {
    std::vector<const Rule*> used;
    for (const std::string& module : bare_modules) {
        const std::vector<const Rule*> rules = deciding(module);
        used.insert(used.end(), rules.begin(), rules.end());
    }
    for (const Rule& rule : rules_) {
        if (rule.of_preset || std::find(used.begin(), used.end(), &rule) != used.end()) continue;
        const auto matched = std::find_if(bare_modules.begin(), bare_modules.end(), [&](const std::string& module) {
            return rule.pattern.matches(names_of(module));
        });
        if (matched == bare_modules.end()) {
            fail(ErrorCode::invalid_argument,
                 "{}: \"{}\" matches no linear layer of the model; they have names like {}", name_, rule.pattern.text(),
                 bare_modules.empty() ? "lm_head" : bare_modules.front());
        }
        fail(ErrorCode::invalid_argument,
             "{}: \"{}\" decides nothing: longer patterns decide all it matches, such as {} by \"{}\"", name_,
             rule.pattern.text(), *matched, deciding(*matched).front()->pattern.text());
    }
}

nlohmann::ordered_json Recipe::json() const {
    nlohmann::ordered_json modules = nlohmann::ordered_json::object();
    for (const Rule& rule : rules_) modules[rule.pattern.text()] = recipe_word(rule.algo);
    return {{"default", recipe_word(default_algo_)}, {"modules", modules}, {"kv", kv_fp8_ ? "fp8" : "none"}};
}

}  // namespace colugo
