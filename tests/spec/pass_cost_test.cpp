#include "spec/pass_cost.h"

#include <gtest/gtest.h>

namespace colugo {
namespace {

constexpr double kPasses[] = {1.0, 1.2, 1.4, 2.0};  // of 1, 2, 4, 8 rows

TEST(PassCost, LiesBetweenWhatIsKnownAndGoesOnBeyondIt) {
    const PassCost cost(kPasses, 0.1, 0.02);
    EXPECT_DOUBLE_EQ(cost.pass(1), 1.0);
    EXPECT_DOUBLE_EQ(cost.pass(2), 1.2);
    EXPECT_DOUBLE_EQ(cost.pass(3), 1.3);
    EXPECT_DOUBLE_EQ(cost.pass(8), 2.0);
    EXPECT_DOUBLE_EQ(cost.pass(16), 3.2);
    EXPECT_DOUBLE_EQ(cost.draft(2), 0.14);
}

TEST(PassCost, FollowsWhatIsMeasured) {
    PassCost cost(kPasses, 0.1, 0.02);
    for (int i = 0; i < 100; ++i) {
        cost.record_pass(8, 1.5);
        cost.record_pass(1, 1.0);
        cost.record_draft(1, 0.24);
    }
    EXPECT_NEAR(cost.pass(8), 1.5, 0.02);
    EXPECT_NEAR(cost.pass(1), 1.0, 0.02);
    EXPECT_NEAR(cost.draft(1), 0.24, 0.01);
    // A context that grows makes passes of all sizes dearer, also those that are not run.
    for (int i = 0; i < 200; ++i) cost.record_pass(1, 1.5);
    EXPECT_NEAR(cost.pass(1), 1.5, 0.02);
    EXPECT_GT(cost.pass(8), 1.6);
}

TEST(PassCost, AStepThatWasHeldUpTellsNothing) {
    PassCost cost(kPasses, 0.1, 0.02);
    cost.record_pass(4, 100.0);
    cost.record_draft(1, 100.0);
    EXPECT_DOUBLE_EQ(cost.pass(4), 1.4);
    EXPECT_DOUBLE_EQ(cost.draft(2), 0.14);
}

// As where a context is long from the first step on.
TEST(PassCost, StepsThatAreAllFarFromWhatIsKnownCount) {
    PassCost cost(kPasses, 0.1, 0.02);
    for (int i = 0; i < 60; ++i) {
        cost.record_pass(1, 5.0);
        cost.record_draft(1, 0.03);
    }
    EXPECT_NEAR(cost.pass(1), 5.0, 0.1);
    EXPECT_NEAR(cost.draft(1), 0.03, 0.001);
    // One now and then does not.
    for (int i = 0; i < 60; ++i) cost.record_pass(1, i % 4 == 3 ? 100.0 : 5.0);
    EXPECT_NEAR(cost.pass(1), 5.0, 0.1);
}

}  // namespace
}  // namespace colugo
