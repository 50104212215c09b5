// A checkpoint made by a plan is read back as it was planned, by what it says of itself.
#include <filesystem>
#include <map>

#include "quant/planned_checkpoint.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Planned;
using testing::preset;
using testing::TestTensor;
using testing::tied_checkpoint;
using testing::tiny_checkpoint;
using testing::TinyCheckpoint;
using testing::wrapped_checkpoint;

// The planned folder: codes of zero, scales of one, copies of what is copied.
void write_planned(const testing::TempFolder& folder, const QuantizationPlan& plan) {
    std::map<std::string, std::string> copies;
    for (const CopiedTensor& copy : plan.copied) {
        const auto bytes = copy.source.bytes();
        copies[copy.name] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    testing::TestTensors tensors;
    for (const OutputTensor& output : plan.outputs) {
        TestTensor tensor{std::string(dtype_word(output.dtype)), output.shape, ""};
        if (copies.contains(output.name)) {
            tensor.bytes = copies.at(output.name);
        } else if (output.dtype == DType::f32) {
            tensor.bytes = testing::bytes_of(std::vector<float>{1.0f});
        } else {
            tensor.bytes = std::string(output.bytes(), output.name.ends_with(".weight_scale") ? '\x38' : '\0');
        }
        ASSERT_TRUE(tensors.emplace(output.name, tensor).second) << output.name;
    }
    folder.write("model.safetensors", testing::safetensors_file(tensors));
    folder.write("config.json", plan.config_json().dump());
    folder.write("hf_quant_config.json", plan.hf_quant_config().dump());
}

WeightScheme scheme_of(QuantAlgo algo) {
    return algo == QuantAlgo::nvfp4   ? WeightScheme::nvfp4_w4a4
           : algo == QuantAlgo::w4a16 ? WeightScheme::nvfp4_w4a16
           : algo == QuantAlgo::fp8   ? WeightScheme::fp8
                                      : WeightScheme::bf16;
}

// Reads the planned folder back and compares. `with_hf`: hf_quant_config.json is there, so that each of the two
// declarations is seen to suffice.
LoadReport read_back(const QuantizationPlan& plan, bool with_hf = true) {
    const testing::TempFolder folder;
    write_planned(folder, plan);
    if (!with_hf) std::filesystem::remove(folder.path() + "/hf_quant_config.json");
    const CheckpointFiles files(folder.path());
    const QuantizationConfig quantization = read_quantization_config(folder.path());
    ThreadPool threads(1);
    LoadReport report = load_weights(files, read_model_config(folder.path()), quantization, {}, threads).report;
    std::map<std::string, QuantAlgo> planned;
    for (const ModulePlan& module : plan.modules) planned[module.file_name] = module.algo;
    size_t quantized = 0;
    for (const ModuleReport& module : report.modules) {
        const auto found = planned.find(module.name);
        quantized += found != planned.end() ? 1 : 0;
        EXPECT_EQ(module.scheme, scheme_of(found == planned.end() ? QuantAlgo::none : found->second)) << module.name;
    }
    EXPECT_EQ(quantized, planned.size());
    EXPECT_EQ(report.kv_cache_algo, plan.cache_scales.empty() ? "" : "FP8");
    EXPECT_FALSE(report.tied_head && planned.contains("lm_head"));
    return report;
}

void expect_read_back(const QuantizationPlan& plan) {
    for (const bool with_hf : {true, false}) {
        SCOPED_TRACE(with_hf);
        const LoadReport report = read_back(plan, with_hf);
        EXPECT_THAT(report.notices, IsEmpty());
        EXPECT_THAT(report.ignored, IsEmpty());
    }
}

TEST(PlannedCheckpoint, IsReadBackAsPlanned) {
    for (const char* name : {"nvfp4-w4a4", "nvfp4-w4a16", "fp8"}) {
        SCOPED_TRACE(name);
        for (const TinyCheckpoint& checkpoint : {tiny_checkpoint(), tied_checkpoint()}) {
            const Planned planned = preset(checkpoint, name);
            expect_read_back(planned.plan);
        }
    }
    TinyCheckpoint without_mtp = tiny_checkpoint();
    without_mtp.erase("mtp");
    without_mtp.config["mtp_num_hidden_layers"] = 0;
    expect_read_back(preset(without_mtp, "nvfp4-w4a4").plan);
    for (const char* toml : {
             "base = \"nvfp4-w4a4\"\n[modules]\nlm_head = \"none\"\n\"mtp.*\" = \"none\"\n\"*.linear_attn.*\" = "
             "\"fp8\"",
             "base = \"fp8\"\nkv = \"none\"\n[modules]\n\"mtp.*\" = \"none\"\n\"mtp.fc\" = \"fp8\"",
             "[modules]\n\"*\" = \"nvfp4-w4a16\"\nmtp = \"fp8\"\n\"*.in_proj_b\" = \"nvfp4-w4a4\"",
             "[modules]\n\"model.layers.1.mlp.down_proj\" = \"fp8\"",
             "kv = \"fp8\"",
         }) {
        SCOPED_TRACE(toml);
        for (const TinyCheckpoint& checkpoint : {tiny_checkpoint(), tied_checkpoint()}) {
            const Planned planned(checkpoint, toml);
            expect_read_back(planned.plan);
        }
    }
}

TEST(PlannedCheckpoint, AWrappedCheckpointKeepsItsNames) {
    const Planned planned(wrapped_checkpoint(), "base = \"nvfp4-w4a4\"\n[modules]\n\"*.self_attn.*\" = \"fp8\"");
    EXPECT_EQ(planned.module("model.layers.0.mlp.up_proj").file_name, "model.language_model.layers.0.mlp.up_proj");
    EXPECT_EQ(planned.plan.cache_scales[0].v_scale, "model.language_model.layers.1.self_attn.v_proj.v_scale");
    const ordered_json hf = planned.plan.hf_quant_config()["quantization"];
    EXPECT_EQ(hf["quantized_layers"]["model.language_model.layers.1.self_attn.q_proj"],
              ordered_json({{"quant_algo", "FP8"}}));
    EXPECT_THAT(hf["exclude_modules"].get<std::vector<std::string>>(),
                ElementsAre("model.language_model.layers.0.linear_attn.in_proj_b",
                            "model.language_model.layers.0.linear_attn.in_proj_a",
                            "model.language_model.layers.0.linear_attn.conv1d", "*visual*"));
    EXPECT_THAT(planned.output_names(), Contains("model.visual.blocks.0.attn.qkv.weight"));
    EXPECT_THAT(planned.plan.notices, ElementsAre("2 tensors of the vision part stay as they are"));
    const LoadReport report = read_back(planned.plan);
    EXPECT_THAT(report.ignored, ElementsAre("model.visual.blocks.0.attn.qkv.weight", "model.visual.pos_embed.weight"));
    EXPECT_THAT(report.notices, ElementsAre(HasSubstr("2 tensors of the vision part are ignored")));
}

TEST(PlannedCheckpoint, NamesOutsideTheTrunkAreKept) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    testing::TestTensors renamed;
    for (auto& [name, tensor] : checkpoint.tensors) {
        renamed[name.starts_with("mtp.") ? "model." + name : name] = std::move(tensor);
    }
    checkpoint.tensors = std::move(renamed);
    const Planned planned = preset(checkpoint, "fp8");
    EXPECT_EQ(planned.module("mtp.fc").file_name, "model.mtp.fc");
    EXPECT_EQ(planned.plan.cache_scales[1].k_scale, "model.mtp.layers.0.self_attn.k_proj.k_scale");
    expect_read_back(planned.plan);
    const Planned plain(checkpoint, "base = \"fp8\"\n[modules]\nmtp = \"none\"");
    EXPECT_THAT(plain.plan.declarations.excluded, Contains("model.mtp*"));
    expect_read_back(plain.plan);
}

TEST(PlannedCheckpoint, ATiedHeadIsQuantizedApart) {
    const Planned planned = preset(tied_checkpoint(), "nvfp4-w4a4");
    const ModulePlan& head = planned.module("lm_head");
    EXPECT_EQ(head.file_name, "lm_head");
    EXPECT_EQ(head.source.record->name, "model.embed_tokens.weight");
    EXPECT_TRUE(planned.plan.unties_head);
    EXPECT_EQ(planned.plan.config_json()["tie_word_embeddings"], false);
    EXPECT_THAT(planned.output_names(), Contains("model.embed_tokens.weight"));

    const Planned kept(tied_checkpoint(), "base = \"nvfp4-w4a4\"\n[modules]\nlm_head = \"none\"");
    EXPECT_FALSE(kept.plan.unties_head);
    EXPECT_EQ(kept.plan.config_json()["tie_word_embeddings"], true);
    EXPECT_THAT(kept.output_names(), Not(Contains(HasSubstr("lm_head"))));
    EXPECT_THAT(kept.plan.declarations.excluded, Contains("lm_head"));
    EXPECT_TRUE(read_back(kept.plan).tied_head);
}

TEST(PlannedCheckpoint, UntiesWhereverTheConfigurationSpeaks) {
    TinyCheckpoint wrapped = wrapped_checkpoint();
    wrapped.erase("lm_head");
    for (const bool top : {false, true}) {
        for (const bool nested : {false, true}) {
            TinyCheckpoint checkpoint = wrapped;
            checkpoint.config.erase("tie_word_embeddings");
            checkpoint.config["text_config"].erase("tie_word_embeddings");
            if (top) checkpoint.config["tie_word_embeddings"] = true;
            if (nested) checkpoint.config["text_config"]["tie_word_embeddings"] = true;
            const Planned planned = preset(checkpoint, "fp8");
            const ordered_json config = planned.plan.config_json();
            EXPECT_EQ(config.value("tie_word_embeddings", true), nested && !top);
            EXPECT_EQ(config["text_config"].value("tie_word_embeddings", true), !nested);
            EXPECT_FALSE(read_back(planned.plan).tied_head);
        }
    }
    // A head of its own beside the word that there is none.
    TinyCheckpoint both = tiny_checkpoint();
    both.config["tie_word_embeddings"] = true;
    const Planned planned = preset(both, "fp8");
    EXPECT_EQ(planned.module("lm_head").source.record->name, "lm_head.weight");
    EXPECT_EQ(planned.plan.config_json()["tie_word_embeddings"], false);
    expect_read_back(planned.plan);
}

TEST(PlannedCheckpoint, ConfigKeepsItsKeysInTheirOrder) {
    const testing::TempFolder folder;
    const TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.write(folder);
    ordered_json config = {{"zebra", 1e-6}, {"architectures", {"A"}}};
    for (const auto& [key, value] : checkpoint.config.items()) config[key] = value;
    folder.write("config.json", config.dump());
    const CheckpointFiles files(folder.path());
    const QuantizationPlan plan =
        plan_quantization(files, read_model_config(folder.path()), {}, Recipe::preset("nvfp4-w4a4"));
    ordered_json written = plan.config_json();
    EXPECT_EQ(written["quantization_config"]["quant_method"], "modelopt");
    written.erase("quantization_config");
    EXPECT_EQ(written.dump(), config.dump());
}

TEST(PlannedCheckpoint, DeclaresAUniformCheckpoint) {
    const Planned planned = preset(tiny_checkpoint(), "nvfp4-w4a4");
    constexpr const char* kExcluded =
        R"(["model.layers.0.linear_attn.in_proj_b","model.layers.0.linear_attn.in_proj_a",)"
        R"("model.layers.0.linear_attn.conv1d"])";
    EXPECT_EQ(planned.plan.hf_quant_config().dump(),
              R"({"producer":{"name":"modelopt","version":"0.41.0"},"quantization":{"quant_algo":"NVFP4",)"
              R"("kv_cache_quant_algo":"FP8","group_size":16,"exclude_modules":)" +
                  std::string(kExcluded) + "}}");
    constexpr const char* kFp4 = R"({"dynamic":false,"num_bits":4,"type":"float","group_size":16})";
    const std::string group = fmt::format(R"("weights":{},"targets":["Linear"]}}}})", kFp4);
    EXPECT_EQ(planned.plan.config_json()["quantization_config"].dump(),
              fmt::format(R"({{"quant_method":"modelopt","quant_algo":"NVFP4","config_groups":{{"group_0":)"
                          R"({{"input_activations":{},{},"ignore":{},"kv_cache_scheme":)"
                          R"({{"dynamic":false,"num_bits":8,"type":"float"}},)"
                          R"("producer":{{"name":"modelopt","version":"0.41.0"}}}})",
                          kFp4, group, kExcluded));
    const Planned wide = preset(tiny_checkpoint(), "nvfp4-w4a16");
    EXPECT_EQ(wide.plan.config_json()["quantization_config"]["config_groups"].dump(), R"({"group_0":{)" + group);
    EXPECT_EQ(wide.plan.hf_quant_config()["quantization"]["quant_algo"], "W4A16_NVFP4");
}

TEST(PlannedCheckpoint, DeclaresAMixtureByName) {
    const Planned planned(
        tiny_checkpoint(),
        "[modules]\nlm_head = \"nvfp4-w4a4\"\n\"mtp.fc\" = \"fp8\"\n\"model.layers.1.mlp\" = \"fp8\"");
    constexpr const char* kLayers =
        R"({"model.layers.1.mlp.gate_proj":{"quant_algo":"FP8"},"model.layers.1.mlp.up_proj":{"quant_algo":"FP8"},)"
        R"("model.layers.1.mlp.down_proj":{"quant_algo":"FP8"},"lm_head":{"quant_algo":"NVFP4","group_size":16},)"
        R"("mtp.fc":{"quant_algo":"FP8"}})";
    const ordered_json hf = planned.plan.hf_quant_config()["quantization"];
    EXPECT_EQ(hf["quant_algo"], "MIXED_PRECISION");
    EXPECT_TRUE(hf["kv_cache_quant_algo"].is_null());
    EXPECT_FALSE(hf.contains("group_size"));
    EXPECT_EQ(hf["quantized_layers"].dump(), kLayers);
    const ordered_json config = planned.plan.config_json()["quantization_config"];
    EXPECT_EQ(config["quantized_layers"].dump(), kLayers);
    EXPECT_EQ(config["ignore"], hf["exclude_modules"]);
    EXPECT_FALSE(config.contains("kv_cache_scheme"));
    EXPECT_EQ(config["config_groups"].size(), 2u);
    EXPECT_THAT(config["config_groups"]["group_0"]["targets"].get<std::vector<std::string>>(),
                ElementsAre("model.layers.1.mlp.gate_proj", "model.layers.1.mlp.up_proj",
                            "model.layers.1.mlp.down_proj", "mtp.fc"));
    EXPECT_EQ(config["config_groups"]["group_0"]["weights"]["num_bits"], 8);
    EXPECT_EQ(config["config_groups"]["group_1"]["targets"], ordered_json::array({"lm_head"}));
    EXPECT_THAT(planned.plan.declarations.excluded, Contains("mtp.layers.0.mlp.up_proj"));
}

TEST(PlannedCheckpoint, AnMtpHeadThatIsOffIsCarriedOver) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.config["mtp_num_hidden_layers"] = 0;
    const Planned planned = preset(checkpoint, "fp8");
    EXPECT_EQ(planned.plan.modules.back().module, "lm_head");
    EXPECT_EQ(planned.plan.cache_scales.size(), 1u);
    EXPECT_THAT(planned.output_names(), Contains("mtp.fc.weight"));
    EXPECT_THAT(planned.plan.declarations.excluded, Contains("mtp*"));
    EXPECT_THAT(planned.plan.notices, ElementsAre(HasSubstr("the mtp tensors stay as they are")));
    EXPECT_EQ(read_back(planned.plan).ignored.size(), 15u);
}

TEST(PlannedCheckpoint, RotaryTablesAreCarriedOver) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.tensors["model.layers.1.self_attn.rotary_emb.inv_freq"] = {"F32", {2}, std::string(8, '\0')};
    const Planned planned = preset(checkpoint, "fp8");
    EXPECT_THAT(planned.output_names(), Contains("model.layers.1.self_attn.rotary_emb.inv_freq"));
    EXPECT_THAT(read_back(planned.plan).notices, IsEmpty());
}

}  // namespace
}  // namespace colugo
