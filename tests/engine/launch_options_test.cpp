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
    options.kv_type = KvType::bf16;
    EXPECT_EQ(choose_kv_type(options, "FP8"), KvType::bf16);
}

}  // namespace
}  // namespace colugo
