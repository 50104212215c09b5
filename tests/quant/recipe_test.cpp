#include "quant/recipe.h"

#include <nlohmann/json.hpp>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

constexpr const char* kUp = "model.layers.0.mlp.up_proj";
constexpr const char* kA = "model.layers.0.linear_attn.in_proj_a";
constexpr const char* kB = "model.layers.0.linear_attn.in_proj_b";
constexpr const char* kQkv = "model.layers.0.linear_attn.in_proj_qkv";

Recipe recipe(std::string_view text) {
    return Recipe::parse(text, "r.toml");
}

TEST(Recipe, PresetsSpareTheGates) {
    for (const auto& [name, algo] :
         {std::pair("nvfp4-w4a4", QuantAlgo::nvfp4), {"nvfp4-w4a16", QuantAlgo::w4a16}, {"fp8", QuantAlgo::fp8}}) {
        const Recipe preset = Recipe::preset(name);
        EXPECT_EQ(preset.name(), name);
        EXPECT_TRUE(preset.kv_fp8());
        for (const char* module : {kUp, kQkv, "lm_head", "mtp.fc", "mtp.layers.0.mlp.up_proj"}) {
            EXPECT_EQ(preset.algo_of(module), algo) << module;
        }
        EXPECT_EQ(preset.algo_of(kA), QuantAlgo::none);
        EXPECT_EQ(preset.algo_of(kB), QuantAlgo::none);
        EXPECT_EQ(recipe_word(algo), name);
    }
    for (const char* name : {"none", "nvfp4", ""}) {
        EXPECT_ERROR(ErrorCode::invalid_argument, "accepted: nvfp4-w4a4, nvfp4-w4a16 and fp8", Recipe::preset(name));
    }
}

TEST(Recipe, AFileBeginsWithAPreset) {
    const Recipe mixed = recipe(R"(
        base = "nvfp4-w4a4"
        kv = "none"
        [modules]
        "lm_head" = "none"
        "mtp" = "none"
        "*.linear_attn.*" = "fp8"
        "*.linear_attn.in_proj_b" = "nvfp4-w4a16"
    )");
    EXPECT_FALSE(mixed.kv_fp8());
    EXPECT_EQ(mixed.algo_of(kUp), QuantAlgo::nvfp4);
    EXPECT_EQ(mixed.algo_of(kQkv), QuantAlgo::fp8);
    EXPECT_EQ(mixed.algo_of(kA), QuantAlgo::none);  // the preset's pattern is the longer one
    EXPECT_EQ(mixed.algo_of(kB), QuantAlgo::w4a16);
    EXPECT_EQ(mixed.algo_of("lm_head"), QuantAlgo::none);
    EXPECT_EQ(mixed.algo_of("mtp.layers.0.mlp.up_proj"), QuantAlgo::none);
    EXPECT_EQ(mixed.algo_of("mtp.fc"), QuantAlgo::none);
}

TEST(Recipe, WithoutAPresetNothingIsQuantizedUnasked) {
    const Recipe mlp = recipe("[modules]\n\"*.mlp.*\" = \"fp8\"");
    EXPECT_FALSE(mlp.kv_fp8());
    EXPECT_EQ(mlp.algo_of(kUp), QuantAlgo::fp8);
    EXPECT_EQ(mlp.algo_of(kQkv), QuantAlgo::none);
    EXPECT_TRUE(recipe("kv = \"fp8\"").kv_fp8());
}

TEST(Recipe, TheMostSpecificPatternDecides) {
    const Recipe rules = recipe(R"(
        [modules]
        "*" = "nvfp4-w4a4"
        "model.*" = "fp8"
        "*_proj" = "none"
        "model.language_model.layers.0.mlp.up_proj" = "nvfp4-w4a16"
        "model.layers.0.[a-z]*.[a-z]*_[a-z]*************" = "fp8"
    )");
    EXPECT_EQ(rules.algo_of(kUp), QuantAlgo::w4a16);  // a name of its own, though a longer pattern matches
    EXPECT_EQ(rules.algo_of("model.layers.0.mlp.down_proj"), QuantAlgo::fp8);
    EXPECT_EQ(rules.algo_of("model.layers.1.linear_attn.in_proj_qkv"), QuantAlgo::fp8);
    EXPECT_EQ(rules.algo_of("mtp.layers.0.mlp.up_proj"), QuantAlgo::none);
    EXPECT_EQ(rules.algo_of("lm_head"), QuantAlgo::nvfp4);  // not under "model."
}

TEST(Recipe, EquallyLongPatternsHaveToAgree) {
    constexpr const char* kAgreed =
        "[modules]\n\"*.up_proj\" = \"fp8\"\n\"*up_proj?\" = \"fp8\"\n\"*.*_proj\" = \"fp8\"";
    EXPECT_EQ(recipe(kAgreed).algo_of(kUp), QuantAlgo::fp8);
    const Recipe torn = recipe("[modules]\n\"*.up_pro*\" = \"fp8\"\n\"*.up_proj\" = \"none\"");
    EXPECT_ERROR(ErrorCode::invalid_file,
                 "r.toml: \"*.up_pro*\" and \"*.up_proj\" are equally long, and say different things of model.layers.0",
                 torn.algo_of(kUp));
    EXPECT_EQ(torn.algo_of("lm_head"), QuantAlgo::none);
}

TEST(Recipe, PatternsWithoutEffectAreRefused) {
    const std::vector<std::string> modules = {kQkv, kA, kB, kUp, "lm_head"};
    Recipe::preset("fp8").check_patterns({kUp});
    recipe("base = \"fp8\"\n[modules]\n\"*.mlp.*\" = \"none\"\nlm_head = \"none\"").check_patterns(modules);
    EXPECT_ERROR(ErrorCode::invalid_argument, "r.toml: \"mtp.*\" matches no linear layer of the model",
                 recipe("[modules]\n\"mtp.*\" = \"fp8\"").check_patterns(modules));
    EXPECT_ERROR(ErrorCode::invalid_argument,
                 "r.toml: \"*.in_proj_a\" decides nothing: longer patterns decide all it matches, such as "
                 "model.layers.0.linear_attn.in_proj_a by \"*.linear_attn.in_proj_a\"",
                 recipe("base = \"fp8\"\n[modules]\n\"*.in_proj_a\" = \"fp8\"").check_patterns(modules));
}

TEST(Recipe, RefusesWhatItDoesNotKnow) {
    EXPECT_ERROR(ErrorCode::invalid_file, "r.toml: line 2, column", recipe("kv = \"fp8\"\nbase ="));
    EXPECT_ERROR(ErrorCode::invalid_file, "r.toml: module is not a key of a recipe; accepted: base, kv and modules",
                 recipe("[module]\n\"*\" = \"fp8\""));
    EXPECT_ERROR(ErrorCode::invalid_file, "r.toml: base is 'int4'; accepted: nvfp4-w4a4", recipe("base = \"int4\""));
    EXPECT_ERROR(ErrorCode::invalid_file, "r.toml: base is 'none'", recipe("base = \"none\""));
    EXPECT_ERROR(ErrorCode::invalid_file, "r.toml: kv is 'bf16'; accepted: fp8 and none", recipe("kv = \"bf16\""));
    EXPECT_ERROR(ErrorCode::invalid_file, "r.toml: kv is no text", recipe("kv = true"));
    EXPECT_ERROR(ErrorCode::invalid_file, "r.toml: modules is no table", recipe("modules = \"fp8\""));
    EXPECT_ERROR(ErrorCode::invalid_file,
                 "r.toml: modules.\"*\" is 'int8'; accepted: nvfp4-w4a4, nvfp4-w4a16, fp8 and none",
                 recipe("[modules]\n\"*\" = \"int8\""));
    EXPECT_ERROR(ErrorCode::invalid_file, "a name with dots is written in quotes",
                 recipe("[modules]\nmtp.fc = \"fp8\""));
    EXPECT_ERROR(ErrorCode::invalid_file, "re:( is not a regular expression", recipe("[modules]\n\"re:(\" = \"fp8\""));
}

TEST(Recipe, IsNamedByPresetOrPath) {
    const testing::TempFolder folder;
    const std::string path = folder.write("r.toml", "[modules]\n\"*\" = \"fp8\"");
    EXPECT_EQ(Recipe::named("nvfp4-w4a16").algo_of(kUp), QuantAlgo::w4a16);
    EXPECT_EQ(Recipe::named(path).algo_of(kUp), QuantAlgo::fp8);
    EXPECT_EQ(Recipe::named(path).name(), path);
    EXPECT_ERROR(ErrorCode::not_found, "recipe nvfp4 does not exist; accepted: nvfp4-w4a4", Recipe::named("nvfp4"));
}

TEST(Recipe, KvCanBeOverridden) {
    Recipe preset = Recipe::preset("fp8");
    preset.set_kv("none");
    EXPECT_FALSE(preset.kv_fp8());
    preset.set_kv("fp8");
    EXPECT_TRUE(preset.kv_fp8());
    EXPECT_ERROR(ErrorCode::invalid_argument, "kv is 'f32'; accepted: fp8 and none", preset.set_kv("f32"));
}

TEST(Recipe, JsonIsOneForOneMeaning) {
    const std::string json =
        recipe("base = \"fp8\"\nkv = \"none\"\n[modules]\n\"mtp\" = \"none\"\n\"*.x\" = \"fp8\"").json().dump();
    EXPECT_EQ(json, R"({"default":"fp8","modules":{"*.linear_attn.in_proj_a":"none","*.linear_attn.in_proj_b":"none",)"
                    R"("*.x":"fp8","mtp":"none"},"kv":"none"})");
    const Recipe reordered =
        Recipe::parse("kv = \"none\"\nbase = \"fp8\"\nmodules = {\"*.x\" = \"fp8\", \"mtp\" = \"none\"}", "other.toml");
    EXPECT_EQ(reordered.json().dump(), json);
    Recipe other = reordered;
    other.set_kv("fp8");
    EXPECT_NE(other.json().dump(), json);
}

}  // namespace
}  // namespace colugo
