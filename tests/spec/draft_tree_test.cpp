#include "spec/draft_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colugo {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> tokens(const DraftTree& tree) {
    std::vector<int32_t> out;
    for (const DraftNode& node : tree.nodes()) out.push_back(node.token);
    return out;
}

std::vector<int32_t> parents(const DraftTree& tree) {
    std::vector<int32_t> out;
    for (const DraftNode& node : tree.nodes()) out.push_back(node.parent);
    return out;
}

TEST(DraftTree, SourcesThatAgreeShareNodes) {
    DraftTree tree;
    const int32_t a = tree.add(-1, 10, 0.5f, DraftSource::mtp);
    EXPECT_EQ(tree.add(-1, 10, 0.8f, DraftSource::lookup), a);
    EXPECT_FLOAT_EQ(tree.node(a).probability, 0.8f);
    const int32_t b = tree.add(a, 11, 0.5f, DraftSource::lookup);
    EXPECT_FLOAT_EQ(tree.node(b).probability, 0.4f);
    EXPECT_EQ(tree.node(b).depth, 2);
    EXPECT_EQ(tree.child(a, 11), b);
    EXPECT_EQ(tree.child(a, 12), -1);
    EXPECT_EQ(tree.child(-1, 11), -1);
}

TEST(DraftTree, KeepsTheMostProbableByDepth) {
    DraftTree tree;
    const int32_t left = tree.add(-1, 1, 0.6f, DraftSource::mtp);
    const int32_t right = tree.add(-1, 2, 0.3f, DraftSource::mtp);
    const int32_t below = tree.add(left, 3, 0.9f, DraftSource::mtp);
    tree.add(right, 4, 0.9f, DraftSource::mtp);
    tree.add(below, 5, 0.9f, DraftSource::mtp);
    tree.add(left, 6, 0.1f, DraftSource::mtp);
    tree.keep_best(4, 100);
    EXPECT_THAT(tokens(tree), ElementsAre(1, 2, 3, 5));
    EXPECT_THAT(parents(tree), ElementsAre(-1, -1, 0, 2));
    tree.keep_best(0, 100);
    EXPECT_TRUE(tree.nodes().empty());
}

// The root in column 30: its children are in the last column, and only one of them may go on.
TEST(DraftTree, OneWayCrossesABorder) {
    DraftTree tree;
    const int32_t left = tree.add(-1, 1, 0.5f, DraftSource::mtp);
    const int32_t right = tree.add(-1, 2, 0.4f, DraftSource::mtp);
    tree.add(right, 3, 0.99f, DraftSource::mtp);
    tree.add(left, 4, 0.7f, DraftSource::mtp);
    tree.add(left, 5, 0.3f, DraftSource::mtp);
    tree.keep_best(10, 62);
    EXPECT_THAT(tokens(tree), ElementsAre(1, 2, 3));
    EXPECT_THAT(parents(tree), ElementsAre(-1, -1, 1));
    DraftTree elsewhere;
    const int32_t a = elsewhere.add(-1, 1, 0.5f, DraftSource::mtp);
    const int32_t b = elsewhere.add(-1, 2, 0.4f, DraftSource::mtp);
    elsewhere.add(b, 3, 0.99f, DraftSource::mtp);
    elsewhere.add(a, 4, 0.7f, DraftSource::mtp);
    elsewhere.keep_best(10, 61);
    EXPECT_EQ(elsewhere.nodes().size(), 4u);
}

}  // namespace
}  // namespace colugo
