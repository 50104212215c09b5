#include "engine/launch_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colugo {
namespace {

using kernels::KvType;

TEST(ChooseKvType, FollowsTheRule) {
    std::vector<std::string> notices;
    LaunchOptions options;
    EXPECT_EQ(choose_kv_type(options, "", notices), KvType::bf16);
    EXPECT_EQ(choose_kv_type(options, "FP8", notices), KvType::fp8);
    options.compute = ComputeMode::f32;
    EXPECT_EQ(choose_kv_type(options, "FP8", notices), KvType::f32);
    options.kv_type = KvType::bf16;
    EXPECT_EQ(choose_kv_type(options, "FP8", notices), KvType::bf16);
    EXPECT_TRUE(notices.empty());
}

TEST(ChooseKvType, SaysWhatItDoesNotKnow) {
    std::vector<std::string> notices;
    EXPECT_EQ(choose_kv_type({}, "INT3", notices), KvType::bf16);
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_THAT(notices[0], testing::HasSubstr("INT3"));
}

}  // namespace
}  // namespace colugo
