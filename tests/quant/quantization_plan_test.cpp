// What a checkpoint becomes by a recipe, and what is refused.
#include "quant/quantization_plan.h"

#include <set>

#include "quant/planned_checkpoint.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Planned;
using testing::preset;
using testing::TestTensor;
using testing::tiny_checkpoint;
using testing::TinyCheckpoint;
using testing::wrapped_checkpoint;

TEST(QuantizationPlan, ListsModulesInProcessingOrder) {
    const Planned planned = preset(tiny_checkpoint(), "nvfp4-w4a4");
    std::vector<std::string> names;
    for (const ModulePlan& module : planned.plan.modules) {
        names.push_back(module.module);
        EXPECT_EQ(module.file_name, module.module);
        EXPECT_EQ(module.algo, QuantAlgo::nvfp4);
        EXPECT_EQ(module.source.record->name, module.module + ".weight");
    }
    EXPECT_THAT(
        names,
        ElementsAre("model.layers.0.linear_attn.in_proj_qkv", "model.layers.0.linear_attn.in_proj_z",
                    "model.layers.0.linear_attn.out_proj", "model.layers.0.mlp.gate_proj", "model.layers.0.mlp.up_proj",
                    "model.layers.0.mlp.down_proj", "model.layers.1.self_attn.q_proj",
                    "model.layers.1.self_attn.k_proj", "model.layers.1.self_attn.v_proj",
                    "model.layers.1.self_attn.o_proj", "model.layers.1.mlp.gate_proj", "model.layers.1.mlp.up_proj",
                    "model.layers.1.mlp.down_proj", "lm_head", "mtp.fc", "mtp.layers.0.self_attn.q_proj",
                    "mtp.layers.0.self_attn.k_proj", "mtp.layers.0.self_attn.v_proj", "mtp.layers.0.self_attn.o_proj",
                    "mtp.layers.0.mlp.gate_proj", "mtp.layers.0.mlp.up_proj", "mtp.layers.0.mlp.down_proj"));
    EXPECT_EQ(planned.module("model.layers.1.mlp.down_proj").n, 64);
    EXPECT_EQ(planned.module("model.layers.1.mlp.down_proj").k, 96);
    ASSERT_EQ(planned.plan.cache_scales.size(), 2u);
    EXPECT_EQ(planned.plan.cache_scales[0].attention, "model.layers.1.self_attn");
    EXPECT_EQ(planned.plan.cache_scales[0].k_scale, "model.layers.1.self_attn.k_proj.k_scale");
    EXPECT_EQ(planned.plan.cache_scales[1].v_scale, "mtp.layers.0.self_attn.v_proj.v_scale");
    EXPECT_FALSE(planned.plan.unties_head);
    EXPECT_THAT(planned.plan.notices, IsEmpty());
}

TEST(QuantizationPlan, ALayersTensorsLieTogether) {
    const Planned planned = preset(wrapped_checkpoint(), "fp8");
    std::vector<std::string> parts;
    std::set<std::string> seen;
    for (const std::string& name : planned.output_names()) {
        std::string part =
            name.substr(0, name.find('.', name.find("layers.") == name.npos ? 0 : name.find("layers.") + 7));
        if (name.find("embed_tokens") != name.npos || name.find("model.norm") != name.npos) part = name;
        if (name.starts_with("mtp.")) part = "mtp";
        if (name.find("visual") != name.npos) part = "visual";
        if (parts.empty() || parts.back() != part) parts.push_back(part);
    }
    EXPECT_THAT(parts, ElementsAre("model.language_model.embed_tokens.weight", "model.language_model.layers.0",
                                   "model.language_model.layers.1", "model.language_model.norm.weight", "lm_head",
                                   "mtp", "visual"));
}

TEST(QuantizationPlan, TensorsOfEachFormat) {
    ModulePlan module{"x", "m", {}, 6, 64, QuantAlgo::nvfp4};
    const auto text = [&](QuantAlgo algo) {
        module.algo = algo;
        std::string all;
        for (const OutputTensor& tensor : module_tensors(module)) {
            all += fmt::format("{} {} {}; ", tensor.name, dtype_word(tensor.dtype), shape_text(tensor.shape));
        }
        return all;
    };
    EXPECT_EQ(text(QuantAlgo::nvfp4),
              "m.weight U8 [6, 32]; m.weight_scale F8_E4M3 [6, 4]; m.weight_scale_2 F32 []; m.input_scale F32 []; ");
    EXPECT_EQ(text(QuantAlgo::w4a16), "m.weight U8 [6, 32]; m.weight_scale F8_E4M3 [6, 4]; m.weight_scale_2 F32 []; ");
    EXPECT_EQ(text(QuantAlgo::fp8), "m.weight F8_E4M3 [6, 64]; m.weight_scale F32 []; m.input_scale F32 []; ");
}

TEST(QuantizationPlan, TotalsCountEveryTensor) {
    const TinyCheckpoint checkpoint = tiny_checkpoint();
    const Planned planned = preset(checkpoint, "nvfp4-w4a16");
    uint64_t source = 0, output = 0;
    for (const auto& [name, tensor] : checkpoint.tensors) source += tensor.bytes.size();
    for (const CopiedTensor& copy : planned.plan.copied) output += copy.source.record->length;
    for (const ModulePlan& module : planned.plan.modules) {
        output += static_cast<uint64_t>(module.n) * static_cast<uint64_t>(module.k) * 9 / 16 + 4;
    }
    EXPECT_EQ(planned.plan.source_bytes, source);
    EXPECT_EQ(planned.plan.output_bytes, output + 4 * 4);  // and the scales of two layers' caches
    EXPECT_EQ(planned.plan.copied.size() + planned.plan.modules.size(), checkpoint.tensors.size());
}

TEST(QuantizationPlan, TellsOfPartsThatOthersMultiplyTogether) {
    const Planned planned(tiny_checkpoint(), "[modules]\n\"*.q_proj\" = \"fp8\"\n\"*.up_proj\" = \"fp8\"");
    EXPECT_THAT(
        planned.plan.notices,
        ElementsAre("model.layers.0.mlp, model.layers.1.mlp, mtp.layers.0.mlp: gate_proj and up_proj are stored "
                    "differently, which programs that multiply them in one go refuse",
                    HasSubstr("model.layers.1.self_attn, mtp.layers.0.self_attn: q_proj and k_proj and v_proj")));
}

TEST(QuantizationPlan, RefusesAQuantizedSource) {
    TinyCheckpoint declared = tiny_checkpoint();
    declared.declare({{"lm_head", "FP8"}});
    EXPECT_ERROR(ErrorCode::unsupported, "is quantized already, as its configuration declares",
                 preset(declared, "fp8"));
    TinyCheckpoint stored = tiny_checkpoint();
    stored.store_nvfp4("model.layers.0.mlp.up_proj");
    EXPECT_ERROR(
        ErrorCode::unsupported,
        "tensor model.layers.0.mlp.up_proj.weight has type U8; expected a checkpoint of plain BF16, F16 or F32",
        preset(stored, "fp8"));
    stored = tiny_checkpoint();
    stored.store_fp8("lm_head");
    EXPECT_ERROR(ErrorCode::unsupported, "tensor lm_head.weight has type F8_E4M3", preset(stored, "fp8"));
    TinyCheckpoint scaled = tiny_checkpoint();
    scaled.scalar("model.layers.1.self_attn.k_proj.k_scale", 1.0f);
    scaled.scalar("model.layers.1.self_attn.v_proj.v_scale", 1.0f);
    EXPECT_ERROR(ErrorCode::unsupported, "tensor model.layers.1.self_attn.k_proj.k_scale scales a cache",
                 preset(scaled, "fp8"));
}

TEST(QuantizationPlan, RefusesWhatDoesNotFitTheModel) {
    TinyCheckpoint missing = tiny_checkpoint();
    missing.erase("model.layers.1.self_attn.v_proj.weight");
    EXPECT_ERROR(ErrorCode::invalid_file, "tensor model.layers.1.self_attn.v_proj.weight is missing",
                 preset(missing, "fp8"));
    TinyCheckpoint foreign = tiny_checkpoint();
    foreign.tensors["adapter.weight"] = {"BF16", {1}, "ab"};
    EXPECT_ERROR(ErrorCode::unsupported, "tensor adapter.weight is not known", preset(foreign, "fp8"));
    TinyCheckpoint odd = wrapped_checkpoint();
    odd.tensors["model.visual.mask"] = {"BOOL", {1}, "a"};
    EXPECT_ERROR(ErrorCode::unsupported, "tensor model.visual.mask has type BOOL", preset(odd, "fp8"));
}

TEST(QuantizationPlan, RefusesInputsThatDoNotDivideIntoBlocks) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    for (const std::string layer : {"model.layers.0.", "model.layers.1.", "mtp.layers.0."}) {
        for (const char* part : {"gate_proj", "up_proj", "down_proj"}) {
            TestTensor& tensor = checkpoint.tensors.at(layer + "mlp." + part + ".weight");
            for (int64_t& size : tensor.shape) size = size == testing::kTinyIntermediate ? 40 : size;
            tensor.bytes.resize(40 * 64 * 2);
        }
    }
    const testing::TempFolder folder;
    checkpoint.write(folder);
    const CheckpointFiles files(folder.path());
    ModelConfig config = read_model_config(folder.path());
    config.intermediate_size = 40;
    EXPECT_ERROR(ErrorCode::unsupported, "model.layers.0.mlp.down_proj has 40 inputs; expected a multiple of 16",
                 plan_quantization(files, config, {}, Recipe::preset("nvfp4-w4a4")));
    EXPECT_EQ(plan_quantization(files, config, {}, Recipe::preset("fp8")).modules.size(), 22u);
}

TEST(QuantizationPlan, RefusesARecipeWithoutEffect) {
    EXPECT_ERROR(ErrorCode::invalid_argument, "recipe r.toml quantizes nothing",
                 Planned(tiny_checkpoint(), "kv = \"none\""));
    EXPECT_ERROR(ErrorCode::invalid_argument, "\"*.experts.*\" matches no linear layer",
                 Planned(tiny_checkpoint(), "[modules]\n\"*.experts.*\" = \"fp8\""));
    EXPECT_ERROR(ErrorCode::invalid_argument, "\"*embed_tokens\" matches no linear layer",
                 Planned(tiny_checkpoint(), "base = \"fp8\"\n[modules]\n\"*embed_tokens\" = \"fp8\""));
}

}  // namespace
}  // namespace colugo
