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

// A child by the head, with a share of its parent's probability.
int32_t add(DraftTree& tree, int32_t parent, int32_t token, float share) {
    const int32_t index = tree.add(parent, token, {.head = share});
    tree.set_share(index, share);
    return index;
}

TEST(DraftTree, SourcesThatAgreeShareNodes) {
    DraftTree tree;
    const int32_t a = tree.add(-1, 10, {.head = 0.5f});
    EXPECT_EQ(tree.add(-1, 10, {.agreed = 3}), a);
    EXPECT_FLOAT_EQ(tree.node(a).evidence.head, 0.5f);
    EXPECT_EQ(tree.node(a).evidence.agreed, 3);
    const int32_t b = tree.add(a, 11, {.agreed = 3});
    tree.set_share(a, 0.8f);
    tree.set_share(b, 0.5f);
    EXPECT_FLOAT_EQ(tree.node(b).probability, 0.4f);
    EXPECT_EQ(tree.node(b).depth, 2);
    EXPECT_EQ(tree.child(a, 11), b);
    EXPECT_EQ(tree.child(a, 12), -1);
    EXPECT_EQ(tree.child(-1, 11), -1);
}

TEST(DraftTree, KeepsTheMostProbableByDepth) {
    DraftTree tree;
    const int32_t left = add(tree, -1, 1, 0.6f);
    const int32_t right = add(tree, -1, 2, 0.3f);
    const int32_t below = add(tree, left, 3, 0.9f);
    add(tree, right, 4, 0.9f);
    add(tree, below, 5, 0.9f);
    add(tree, left, 6, 0.1f);
    tree.keep_best(4, 100);
    EXPECT_THAT(tokens(tree), ElementsAre(1, 2, 3, 5));
    EXPECT_THAT(parents(tree), ElementsAre(-1, -1, 0, 2));
    tree.keep_best(0, 100);
    EXPECT_TRUE(tree.nodes().empty());
}

// The root in column 30: its children are in the last column, and only one of them may go on.
TEST(DraftTree, OneWayCrossesABorder) {
    DraftTree tree;
    const int32_t left = add(tree, -1, 1, 0.5f);
    const int32_t right = add(tree, -1, 2, 0.4f);
    add(tree, right, 3, 0.99f);
    add(tree, left, 4, 0.7f);
    add(tree, left, 5, 0.3f);
    tree.keep_best(10, 62);
    EXPECT_THAT(tokens(tree), ElementsAre(1, 2, 3));
    EXPECT_THAT(parents(tree), ElementsAre(-1, -1, 1));
    DraftTree elsewhere;
    const int32_t a = add(elsewhere, -1, 1, 0.5f);
    const int32_t b = add(elsewhere, -1, 2, 0.4f);
    add(elsewhere, b, 3, 0.99f);
    add(elsewhere, a, 4, 0.7f);
    elsewhere.keep_best(10, 61);
    EXPECT_EQ(elsewhere.nodes().size(), 4u);
}

}  // namespace
}  // namespace colugo
