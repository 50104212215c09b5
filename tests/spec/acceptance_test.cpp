#include "spec/acceptance.h"

#include <gtest/gtest.h>

#include <vector>

namespace colugo {
namespace {

// Nodes 0 (token 1, sure) and 1 (token 2, unsure) behind the root, 2 behind 0.
DraftTree small_tree() {
    DraftTree tree;
    tree.add(-1, 1, {.head = 0.9f});
    tree.add(-1, 2, {.head = 0.05f});
    tree.add(0, 3, {.head = 0.9f});
    return tree;
}

TEST(Acceptance, BelievesItsSourcesUntilItHasSeen) {
    const Acceptance acceptance;
    EXPECT_NEAR(acceptance.share({.head = 0.9f}, 1), 0.9f, 0.06f);
    EXPECT_NEAR(acceptance.share({.head = 0.05f}, 1), 0.05f, 0.03f);
    EXPECT_GT(acceptance.share({.agreed = 8}, 1), acceptance.share({.agreed = 2}, 1));
    EXPECT_GT(acceptance.share({.head = 0.9f, .agreed = 8}, 1), acceptance.share({.head = 0.9f}, 1));
}

TEST(Acceptance, LearnsWhatIsAcceptedOfWhatParentWas) {
    Acceptance acceptance;
    const DraftTree tree = small_tree();
    const std::vector<int32_t> first = {0};
    // The sure one is right at depth 1 and wrong behind it.
    for (int i = 0; i < 400; ++i) acceptance.record(tree, first, true);
    EXPECT_GT(acceptance.share({.head = 0.9f}, 1), 0.97f);
    EXPECT_LT(acceptance.share({.head = 0.05f}, 1), 0.01f);
    EXPECT_LT(acceptance.share({.head = 0.9f}, 2), 0.05f);
    // What is new counts more than what is old.
    for (int i = 0; i < 400; ++i) acceptance.record(tree, {}, true);
    EXPECT_LT(acceptance.share({.head = 0.9f}, 1), 0.25f);
}

TEST(Acceptance, ExpectsOfTheHeadWhatItFoundLately) {
    Acceptance acceptance;
    for (int i = 0; i < 12; ++i) acceptance.record_head(1, 0.05f);
    EXPECT_LT(acceptance.head_share(1), 0.2f);
    EXPECT_GT(acceptance.head_share(2), 0.5f);
    for (int i = 0; i < 400; ++i) acceptance.record_head(1, 0.9f);
    EXPECT_GT(acceptance.head_share(1), 0.8f);
}

TEST(Acceptance, ATextThatEndsTellsNothingOfWhatWouldFollow) {
    Acceptance acceptance;
    const DraftTree tree = small_tree();
    const float before = acceptance.share({.head = 0.9f}, 2);
    const std::vector<int32_t> first = {0};
    for (int i = 0; i < 50; ++i) acceptance.record(tree, first, false);
    EXPECT_EQ(acceptance.share({.head = 0.9f}, 2), before);
}

TEST(Acceptance, ProbabilitiesAreThoseOfWholePaths) {
    const Acceptance acceptance;
    DraftTree tree = small_tree();
    acceptance.estimate(tree);
    EXPECT_FLOAT_EQ(tree.node(0).probability, acceptance.share({.head = 0.9f}, 1));
    EXPECT_FLOAT_EQ(tree.node(2).probability, tree.node(0).probability * acceptance.share({.head = 0.9f}, 2));
}

}  // namespace
}  // namespace colugo
