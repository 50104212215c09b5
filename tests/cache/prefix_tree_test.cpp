#include "cache/prefix_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace colugo {
namespace {

using Tokens = std::vector<int32_t>;

Snapshot at(int64_t position) {
    Snapshot snapshot;
    snapshot.position = position;
    return snapshot;
}

PrefixTree::Node& put(PrefixTree& tree, const Tokens& tokens, const std::string& scope = "") {
    PrefixTree::Node& node = tree.insert({tokens, scope});
    tree.attach(node, at(static_cast<int64_t>(tokens.size())));
    return node;
}

TEST(PrefixTree, FindsTheDeepestSnapshotAndTheCommonLength) {
    PrefixTree tree;
    put(tree, {1, 2, 3});
    put(tree, {1, 2, 3, 4, 5, 6});
    put(tree, {1, 2, 9});
    EXPECT_EQ(tree.fault(), "");
    const auto expect = [&](const Tokens& tokens, int64_t limit, int64_t length, int64_t deepest) {
        const PrefixTree::Match match = tree.match({tokens}, limit);
        EXPECT_EQ(match.length, length);
        EXPECT_EQ(match.deepest != nullptr ? match.deepest->position : 0, deepest);
    };
    expect({1, 2, 3, 4, 5, 6, 7}, 100, 6, 6);
    expect({1, 2, 3, 4, 5, 6}, 5, 6, 3);
    expect({1, 2, 3, 4, 7}, 100, 4, 3);
    expect({1, 2, 9, 1}, 100, 3, 3);
    expect({1, 2}, 100, 2, 0);
    expect({2}, 100, 0, 0);
    expect({}, 100, 0, 0);
}

TEST(PrefixTree, ANodeGoesWithItsSnapshotUnlessWaysPartThere) {
    PrefixTree tree;
    PrefixTree::Node& upper = put(tree, {1, 2, 3});
    PrefixTree::Node& left = put(tree, {1, 2, 3, 4});
    PrefixTree::Node& right = put(tree, {1, 2, 3, 5});
    tree.detach(upper);
    EXPECT_EQ(tree.fault(), "");
    EXPECT_EQ(tree.match({Tokens{1, 2, 3, 5}}, 100).length, 4);
    tree.detach(left);
    EXPECT_EQ(tree.fault(), "");
    EXPECT_EQ(right.tokens, (Tokens{1, 2, 3, 5}));
    tree.detach(right);
    EXPECT_EQ(tree.fault(), "");
    EXPECT_EQ(tree.bytes(), 0u);
    EXPECT_EQ(tree.match({Tokens{1}}, 100).length, 0);
}

TEST(PrefixTree, ScopesHaveNothingInCommonAndGoWithTheirLastNode) {
    PrefixTree tree;
    const std::string name(500, 'n');
    PrefixTree::Node& unnamed = put(tree, {1, 2, 3});
    const uint64_t before = tree.bytes();
    PrefixTree::Node& named = put(tree, {1, 2, 3}, name);
    EXPECT_EQ(tree.fault(), "");
    EXPECT_EQ(tree.num_scopes(), 2u);
    EXPECT_NE(&unnamed, &named);
    EXPECT_GE(tree.bytes() - before, name.size());
    EXPECT_LE(tree.bytes() - before, PrefixTree::most_bytes(3, name));
    EXPECT_EQ(tree.find({Tokens{1, 2, 3}}), &unnamed);
    EXPECT_EQ(tree.find({Tokens{1, 2, 3}, name}), &named);
    EXPECT_EQ(tree.match({Tokens{1, 2, 3}, "n"}, 100).length, 0);
    EXPECT_EQ(PrefixTree::prefix_of(named).scope, name);
    EXPECT_EQ(PrefixTree::prefix_of(named).tokens, (Tokens{1, 2, 3}));
    tree.detach(named);
    EXPECT_EQ(tree.fault(), "");
    EXPECT_EQ(tree.num_scopes(), 1u);
    EXPECT_EQ(tree.bytes(), before);
    tree.prune(tree.insert({Tokens{4, 5}, name}));  // came to nothing
    EXPECT_EQ(tree.num_scopes(), 1u);
    EXPECT_EQ(tree.bytes(), before);
}

// Against a map from prefixes, over a small alphabet so that ways part everywhere.
TEST(PrefixTree, AgreesWithAMapOverRandomOperations) {
    using Key = std::pair<std::string, Tokens>;
    PrefixTree tree;
    std::map<Key, PrefixTree::Node*> known;
    std::mt19937 random(5);
    const auto draw = [&] {
        Tokens tokens(1 + random() % 12);
        for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 3);
        static const std::string kScopes[] = {"", "a", std::string(40, 'b')};
        return Key(kScopes[random() % 3], tokens);
    };
    int detached = 0, found = 0;
    for (int step = 0; step < 20000; ++step) {
        const Key key = draw();
        const auto& [scope, tokens] = key;
        if (random() % 2 == 0 && !known.empty()) {
            auto entry = std::next(known.begin(), static_cast<std::ptrdiff_t>(random() % known.size()));
            tree.detach(*entry->second);
            known.erase(entry);
            ++detached;
        } else if (!known.contains(key)) {
            PrefixTree::Node& node = tree.insert({tokens, scope});
            ASSERT_FALSE(node.snapshot);
            tree.attach(node, at(static_cast<int64_t>(tokens.size())));
            known[key] = &node;
        }
        ASSERT_EQ(tree.fault(), "");
        const auto [query_scope, query] = draw();
        const auto limit = static_cast<int64_t>(random() % 12);
        size_t length = 0, deepest = 0;
        for (const auto& [one, node] : known) {
            const Tokens& prefix = one.second;
            if (one.first != query_scope) continue;
            const size_t common = static_cast<size_t>(
                std::mismatch(prefix.begin(), prefix.end(), query.begin(), query.end()).first - prefix.begin());
            length = std::max(length, common);
            if (common == prefix.size() && static_cast<int64_t>(common) <= limit) deepest = std::max(deepest, common);
        }
        const PrefixTree::Match match = tree.match({query, query_scope}, limit);
        ASSERT_EQ(match.length, static_cast<int64_t>(length));
        ASSERT_EQ(match.deepest != nullptr ? match.deepest->position : 0, static_cast<int64_t>(deepest));
        found += deepest > 0;
    }
    EXPECT_GT(detached, 1000);
    EXPECT_GT(found, 1000);
    for (const auto& [key, node] : known) tree.detach(*node);
    EXPECT_EQ(tree.bytes(), 0u);
}

}  // namespace
}  // namespace colugo
