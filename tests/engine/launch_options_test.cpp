#include "engine/launch_options.h"

#include <gtest/gtest.h>

namespace colugo {
namespace {

using kernels::KvType;

TEST(ChooseKvType, FollowsTheRule) {
    LaunchOptions options;
    EXPECT_EQ(choose_kv_type(options, ""), KvType::bf16);
    EXPECT_EQ(choose_kv_type(options, "FP8"), KvType::fp8);
    EXPECT_EQ(choose_kv_type(options, "INT3"), KvType::bf16);
    options.compute = ComputeMode::f32;
    EXPECT_EQ(choose_kv_type(options, "FP8"), KvType::f32);
    options.kv_type = KvType::int8;
    EXPECT_EQ(choose_kv_type(options, "FP8"), KvType::int8);
    options.kv_type = KvType::bf16;
    EXPECT_EQ(choose_kv_type(options, "FP8"), KvType::bf16);
}

TEST(FindKvType, KnowsEveryName) {
    for (const KvType type : {KvType::f32, KvType::bf16, KvType::fp8, KvType::int8}) {
        EXPECT_EQ(find_kv_type(kv_type_name(type)), type);
    }
    EXPECT_EQ(find_kv_type("auto"), std::nullopt);
}

}  // namespace
}  // namespace colugo
