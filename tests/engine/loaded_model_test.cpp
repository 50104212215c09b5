#include "engine/loaded_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace colugo {
namespace {

LaunchOptions options_for(const std::string& name) {
    LaunchOptions options;
    options.model = std::string(COLUGO_FIXTURES_DIR) + "/" + name;
    options.threads = 2;
    options.ctx_size = 256;
    return options;
}

TEST(LoadedModel, IsReadyAndHoldsNoPages) {
    std::vector<std::pair<uint64_t, uint64_t>> steps;
    LoadedModel model(options_for("tiny-bf16"),
                      [&](uint64_t done, uint64_t total) { steps.emplace_back(done, total); });
    EXPECT_EQ(model.plan().cache_bytes, model.plan().least_cache_bytes(1));
    EXPECT_EQ(model.plan().ctx_size, 256);
    EXPECT_EQ(model.kv_type(), kernels::KvType::bf16);
    EXPECT_EQ(model.threads(), 2);
    EXPECT_EQ(model.tier(), kernels::select_tier());
    EXPECT_FALSE(model.model().has_mtp());
    ASSERT_FALSE(steps.empty());
    EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
    EXPECT_EQ(steps.back().first, steps.back().second);
}

TEST(LoadedModel, ThePlanWasWhatIsTaken) {
    LaunchOptions options = options_for("tiny-r1-bf16");
    options.with_mtp = true;
    LoadedModel model(options);
    EXPECT_TRUE(model.model().has_mtp());
    EXPECT_EQ(static_cast<int64_t>(model.plan().format.page_bytes), model.model().page_layout().page_bytes);
    EXPECT_EQ(model.plan().weight_bytes, model.report().memory_bytes);
    EXPECT_EQ(model.plan().format.border_bytes, model.model().recurrent_layout().border_bytes());
    EXPECT_GE(model.plan().workspace_bytes, model.model().workspace_bytes());
}

TEST(LoadedModel, CountsTheWeightsOfAPass) {
    for (const char* name : {"tiny-bf16", "tiny-r1-bf16", "tiny-mixed", "tiny-nvfp4-w4a4"}) {
        LoadedModel model(options_for(name));
        uint64_t expected = 0;
        for (const ModuleReport& module : model.report().modules) {
            const bool table = module.name.ends_with("embed_tokens");
            if (!table || model.report().tied_head) expected += module.packed_bytes;
        }
        EXPECT_EQ(model.weight_bytes_per_pass(), expected) << name;
    }
}

TEST(LoadedModel, TakesTheTypeOfKeysAndValuesTheCheckpointDeclares) {
    LaunchOptions options = options_for("tiny-nvfp4-all");
    EXPECT_EQ(LoadedModel(options).kv_type(), kernels::KvType::fp8);
    options.compute = ComputeMode::f32;
    EXPECT_EQ(LoadedModel(options).kv_type(), kernels::KvType::f32);
    options.kv_type = kernels::KvType::bf16;
    EXPECT_EQ(LoadedModel(options).kv_type(), kernels::KvType::bf16);
}

TEST(LoadedModel, ShortPassesPassTheSelfTestToo) {
    LaunchOptions options = options_for("tiny-bf16");
    options.max_rows = 5;
    EXPECT_NO_THROW(LoadedModel{options});
}

TEST(LoadedModel, RefusesAContextTheModelWasNotMadeFor) {
    LaunchOptions options = options_for("tiny-bf16");
    options.ctx_size = 262145;
    EXPECT_ERROR(ErrorCode::invalid_argument, "262145", LoadedModel{options});
}

TEST(LoadedModel, NamesAFolderThatIsNotThere) {
    LaunchOptions options;
    options.model = "/nowhere";
    EXPECT_ERROR(ErrorCode::not_found, "/nowhere", LoadedModel{options});
}

}  // namespace
}  // namespace colugo
