#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sampling/token_history.h"
#include "sampling/token_mask.h"

namespace colugo {
namespace {

TEST(TokenMask, FullMaskEndsWithItsSize) {
    const TokenMask mask(70, true);
    EXPECT_EQ(mask.count(), 70);
    EXPECT_EQ(mask.words()[1], uint64_t{0x3f});
    EXPECT_EQ(TokenMask(128, true).count(), 128);
}

TEST(TokenMask, SetsAndClears) {
    TokenMask mask(130, false);
    mask.set(129, true);
    mask.set(64, true);
    mask.set(64, false);
    EXPECT_TRUE(mask.contains(129));
    EXPECT_FALSE(mask.contains(64));
    EXPECT_EQ(mask.count(), 1);
    EXPECT_DEATH(mask.set(130, true), "token_mask.cpp");
}

TEST(TokenHistory, CountsAndForgetsOutputs) {
    TokenHistory history(10);
    history.add_prompt(std::vector<int32_t>{3, 5, 3});
    history.add_output(5);
    history.add_output(7);
    history.remove_output(7);
    EXPECT_THAT(history.tokens(), testing::ElementsAre(3, 5, 7));
    EXPECT_EQ(history.prompt_count(3), 2);
    EXPECT_EQ(history.output_count(5), 1);
    EXPECT_EQ(history.output_count(7), 0);
    EXPECT_DEATH(history.remove_output(7), "token_history.cpp");
    EXPECT_DEATH(history.add_output(10), "token_history.cpp");
}

}  // namespace
}  // namespace colugo
