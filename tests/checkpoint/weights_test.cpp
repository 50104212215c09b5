// What is loaded, what is left aside, and what the report says of both.
#include "checkpoint/weights.h"

#include "checkpoint/tiny_checkpoint.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kTinyHidden;
using testing::kTinyVocab;
using testing::tiny_checkpoint;
using testing::TinyCheckpoint;

bool same_rows(const LinearWeight& a, const LinearWeight& b) {
    return a.packed.n == b.packed.n && a.storage.size() == b.storage.size() &&
           std::memcmp(a.storage.data(), b.storage.data(), a.storage.size()) == 0;
}

TEST(Weights, FillsEveryPart) {
    const LoadedWeights loaded = tiny_checkpoint().load();
    const ModelWeights& weights = loaded.weights;
    ASSERT_EQ(weights.layers.size(), 2u);
    EXPECT_TRUE(weights.layers[0].linear_attn && !weights.layers[0].self_attn);
    EXPECT_TRUE(weights.layers[1].self_attn && !weights.layers[1].linear_attn);
    EXPECT_EQ(weights.norm.size(), 64u);
    EXPECT_EQ(weights.layers[1].self_attn->q_proj.packed.n, 128);
    EXPECT_EQ(weights.layers[1].self_attn->o_proj.packed.k, 64);
    EXPECT_EQ(weights.layers[0].linear_attn->in_proj_a.packed.n, 3);
    ASSERT_TRUE(weights.mtp);
    EXPECT_EQ(weights.mtp->fc.packed.k, 2 * kTinyHidden);
    EXPECT_TRUE(weights.mtp->layer.self_attn);
    EXPECT_EQ(weights.mtp->norm.size(), 64u);
    EXPECT_THAT(loaded.report.ignored, IsEmpty());
    EXPECT_THAT(loaded.report.notices, IsEmpty());
}

TEST(Weights, ReportsSizesBeforeAndAfterLoading) {
    const TinyCheckpoint checkpoint = tiny_checkpoint();
    const LoadReport plan = checkpoint.plan();
    uint64_t last = 0, total = 0;
    const LoadedWeights loaded = checkpoint.load({.progress = [&](uint64_t done, uint64_t all) {
        EXPECT_GT(done, last);
        last = done;
        total = all;
    }});
    uint64_t file_bytes = 0;
    for (const auto& [name, tensor] : checkpoint.tensors) file_bytes += tensor.bytes.size();
    EXPECT_EQ(last, file_bytes);
    EXPECT_EQ(total, file_bytes);
    EXPECT_EQ(plan.file_bytes, file_bytes);
    EXPECT_EQ(loaded.report.file_bytes, file_bytes);
    EXPECT_EQ(plan.memory_bytes, loaded.report.memory_bytes);
    EXPECT_EQ(plan.modules.size(), loaded.report.modules.size());
    const ModuleReport& head = loaded.report.modules[loaded.report.modules.size() - 9];
    EXPECT_EQ(head.name, "lm_head");
    EXPECT_EQ(head.n, kTinyVocab);
    EXPECT_EQ(head.packed_bytes, loaded.weights.lm_head->storage.size());
    EXPECT_TRUE(plan.has_mtp);
    EXPECT_FALSE(plan.tied_head);
}

TEST(Weights, EveryWrapperGivesTheSameWeights) {
    const LoadedWeights plain = tiny_checkpoint().load();
    for (const char* trunk : {"model.language_model.", "language_model.model."}) {
        for (const char* outside : {"", "model.", "model.language_model."}) {
            SCOPED_TRACE(std::string(trunk) + " " + outside);
            TinyCheckpoint checkpoint = tiny_checkpoint();
            testing::TestTensors renamed;
            for (auto& [name, tensor] : checkpoint.tensors) {
                const bool inside = name.starts_with("model.");
                renamed[inside ? trunk + name.substr(6) : outside + name] = std::move(tensor);
            }
            checkpoint.tensors = std::move(renamed);
            const LoadedWeights loaded = checkpoint.load();
            EXPECT_TRUE(same_rows(loaded.weights.layers[1].mlp.up_proj, plain.weights.layers[1].mlp.up_proj));
            EXPECT_TRUE(same_rows(*loaded.weights.lm_head, *plain.weights.lm_head));
            EXPECT_TRUE(same_rows(loaded.weights.mtp->fc, plain.weights.mtp->fc));
            EXPECT_THAT(loaded.report.ignored, IsEmpty());
        }
    }
}

// Configuration tied or not or silent, head in the file or not.
TEST(Weights, HeadFollowsConfigurationAndFiles) {
    TinyCheckpoint untied = tiny_checkpoint();
    LoadedWeights loaded = untied.load();
    ASSERT_TRUE(loaded.weights.lm_head);
    EXPECT_EQ(&loaded.weights.head(), &*loaded.weights.lm_head);
    EXPECT_FALSE(same_rows(loaded.weights.head(), loaded.weights.embed_tokens));

    TinyCheckpoint missing = untied;
    missing.erase("lm_head");
    EXPECT_ERROR(ErrorCode::invalid_file, "lm_head.weight is missing", missing.load());
    EXPECT_ERROR(ErrorCode::invalid_file, "set tie_word_embeddings to true in config.json", missing.plan());

    TinyCheckpoint tied = missing;
    tied.config["tie_word_embeddings"] = true;
    loaded = tied.load();
    EXPECT_FALSE(loaded.weights.lm_head);
    EXPECT_EQ(&loaded.weights.head(), &loaded.weights.embed_tokens);
    EXPECT_TRUE(loaded.report.tied_head);
    EXPECT_THAT(loaded.report.notices, IsEmpty());
    tied.config.erase("tie_word_embeddings");
    EXPECT_TRUE(tied.load().report.tied_head);

    TinyCheckpoint silent = untied;
    silent.config.erase("tie_word_embeddings");
    EXPECT_TRUE(silent.load().weights.lm_head);
}

TEST(Weights, TiedWithAHeadOfItsOwn) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.config["tie_word_embeddings"] = true;
    const LoadedWeights different = checkpoint.load();
    ASSERT_TRUE(different.weights.lm_head);
    EXPECT_FALSE(same_rows(different.weights.head(), different.weights.embed_tokens));
    EXPECT_THAT(different.report.notices, ElementsAre(HasSubstr("an lm_head of its own, which is used")));

    checkpoint.tensors.at("lm_head.weight").bytes = checkpoint.tensors.at("model.embed_tokens.weight").bytes;
    const LoadedWeights equal = checkpoint.load();
    EXPECT_FALSE(equal.weights.lm_head);
    EXPECT_THAT(equal.report.notices, Contains(HasSubstr("lm_head.weight equals model.embed_tokens.weight")));
    EXPECT_EQ(equal.report.memory_bytes + different.weights.lm_head->storage.size(), different.report.memory_bytes);
    EXPECT_EQ(equal.report.modules.size() + 1, different.report.modules.size());

    // A quantized copy of a tied head is legal.
    checkpoint.store_nvfp4("lm_head");
    checkpoint.declare({{"lm_head", "W4A16_NVFP4"}});
    const LoadedWeights quantized = checkpoint.load();
    ASSERT_TRUE(quantized.weights.lm_head);
    EXPECT_EQ(quantized.weights.head().packed.format, kernels::WeightFormat::nvfp4);
    EXPECT_EQ(quantized.weights.embed_tokens.packed.format, kernels::WeightFormat::bf16);
    EXPECT_THAT(quantized.report.notices, IsEmpty());
}

TEST(Weights, MtpIsOffWhereItIsNotThereOrNotWanted) {
    TinyCheckpoint without = tiny_checkpoint();
    std::erase_if(without.tensors, [](const auto& entry) { return entry.first.starts_with("mtp."); });
    LoadedWeights loaded = without.load();
    EXPECT_FALSE(loaded.weights.mtp);
    EXPECT_FALSE(loaded.report.has_mtp);
    EXPECT_THAT(loaded.report.notices, ElementsAre(HasSubstr("MTP is off")));
    without.config.erase("mtp_num_hidden_layers");
    EXPECT_THAT(without.load().report.notices, IsEmpty());

    TinyCheckpoint with = tiny_checkpoint();
    with.config.erase("mtp_num_hidden_layers");
    EXPECT_TRUE(with.load().weights.mtp);
    loaded = with.load({.with_mtp = false});
    EXPECT_FALSE(loaded.weights.mtp);
    EXPECT_THAT(loaded.report.ignored, Contains("mtp.fc.weight"));
    EXPECT_EQ(loaded.report.ignored.size(), 15u);
    with.config["mtp_num_hidden_layers"] = 0;
    loaded = with.load();
    EXPECT_FALSE(loaded.weights.mtp);
    EXPECT_THAT(loaded.report.notices, ElementsAre(HasSubstr("mtp_num_hidden_layers is 0")));
}

TEST(Weights, NamesEveryTensorItLeavesAside) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.tensors["model.visual.blocks.0.attn.qkv.weight"] = {"F64", {1}, "12345678"};
    checkpoint.tensors["model.visual.merger.norm.weight"] = {"U8", {1}, "1"};
    checkpoint.tensors["model.layers.1.self_attn.rotary_emb.inv_freq"] = {"U8", {1}, "1"};
    checkpoint.tensors["score.weight"] = {"U8", {1}, "1"};
    const LoadReport report = checkpoint.load().report;
    EXPECT_THAT(report.ignored, ::testing::UnorderedElementsAre(
                                    "model.visual.blocks.0.attn.qkv.weight", "model.visual.merger.norm.weight",
                                    "model.layers.1.self_attn.rotary_emb.inv_freq", "score.weight"));
    EXPECT_THAT(report.notices,
                ElementsAre("2 tensors of the vision part are ignored: only text is served",
                            HasSubstr("1 tensors are ignored, as no part of the model has them: score.weight")));
}

TEST(Weights, ReadsCacheScales) {
    for (const bool beside : {false, true}) {
        TinyCheckpoint checkpoint = tiny_checkpoint();
        const std::string attention = "model.layers.1.self_attn.";
        checkpoint.scalar(attention + (beside ? "k_scale" : "k_proj.k_scale"), 0.5f);
        checkpoint.scalar(attention + (beside ? "v_scale" : "v_proj.v_scale"), 0.25f);
        checkpoint.declare({});
        checkpoint.hf_quant["quantization"]["kv_cache_quant_algo"] = "FP8";
        const LoadedWeights loaded = checkpoint.load();
        EXPECT_EQ(loaded.weights.layers[1].self_attn->k_scale, 0.5f);
        EXPECT_EQ(loaded.weights.layers[1].self_attn->v_scale, 0.25f);
        EXPECT_EQ(loaded.weights.mtp->layer.self_attn->k_scale, 1.0f);
        EXPECT_EQ(loaded.report.kv_cache_algo, "FP8");
    }
}

TEST(Weights, RefuseHalfOfTheCacheScales) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.scalar("model.layers.1.self_attn.v_proj.v_scale", 0.25f);
    EXPECT_ERROR(ErrorCode::invalid_file, "self_attn.k_proj.k_scale is missing: ", checkpoint.load());
}

TEST(Weights, QuantizedGatesUseTheirScales) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    for (const char* module : {"model.layers.0.linear_attn.in_proj_b", "model.layers.0.linear_attn.in_proj_qkv"}) {
        checkpoint.store_nvfp4(module);
    }
    checkpoint.declare({{"model.layers.0.linear_attn", "W4A16_NVFP4"}});
    const LoadedWeights loaded = checkpoint.load();
    const GdnWeights& gdn = *loaded.weights.layers[0].linear_attn;
    EXPECT_EQ(gdn.in_proj_b.packed.format, kernels::WeightFormat::nvfp4);
    EXPECT_EQ(gdn.in_proj_b.packed.alpha, testing::kTinyWeightScale);
    EXPECT_EQ(gdn.in_proj_a.packed.format, kernels::WeightFormat::bf16);
}

TEST(Weights, TheIndexKeepsStraysOut) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    const LoadedWeights right = checkpoint.load();
    const testing::TempFolder folder;
    checkpoint.write(folder);
    std::filesystem::rename(folder.path() + "/model.safetensors", folder.path() + "/s1.safetensors");
    nlohmann::json weight_map;
    for (const auto& [name, tensor] : checkpoint.tensors) weight_map[name] = "s1.safetensors";
    weight_map["extra"] = "s2.safetensors";
    testing::TestTensors second = {{"extra", {"U8", {1}, "e"}}};
    second["model.norm.weight"] = {"BF16", {kTinyHidden}, std::string(2 * kTinyHidden, '\0')};
    folder.write("s2.safetensors", testing::safetensors_file(second));
    folder.write("model.safetensors", testing::safetensors_file(second));
    folder.write("model.safetensors.index.json", nlohmann::json{{"weight_map", weight_map}}.dump());
    const CheckpointFiles files(folder.path());
    ThreadPool threads(1);
    const LoadedWeights loaded = load_weights(files, read_model_config(folder.path()), {}, {}, threads);
    EXPECT_EQ(loaded.weights.norm, right.weights.norm);
    EXPECT_THAT(loaded.report.notices, Contains(HasSubstr("model.norm.weight in s2.safetensors is ignored")));
    EXPECT_THAT(loaded.report.notices, Contains(HasSubstr("model.safetensors is ignored")));
}

TEST(Weights, ThreadsChangeNothing) {
    const testing::TempFolder folder;
    TinyCheckpoint checkpoint = tiny_checkpoint();
    checkpoint.write(folder);
    const CheckpointFiles files(folder.path());
    const ModelConfig config = read_model_config(folder.path());
    ThreadPool one(1), four(4);
    const LoadedWeights a = load_weights(files, config, {}, {}, one);
    const LoadedWeights b = load_weights(files, config, {}, {}, four);
    EXPECT_TRUE(same_rows(a.weights.embed_tokens, b.weights.embed_tokens));
    EXPECT_TRUE(same_rows(a.weights.layers[0].mlp.down_proj, b.weights.layers[0].mlp.down_proj));
}

}  // namespace
}  // namespace colugo
