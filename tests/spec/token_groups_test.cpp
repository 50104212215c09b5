#include "spec/token_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colugo {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> groups_of(const TokenGroups& set) {
    std::vector<int32_t> groups;
    set.list(groups);
    return groups;
}

TEST(TokenGroups, ListsEachGroupOnce) {
    TokenGroups set(5000);
    set.add(17);
    set.add(4999);
    set.add(16);
    set.add(0);
    set.add(1023);
    set.add(1024);
    EXPECT_THAT(groups_of(set), ElementsAre(0, 1, 63, 64, 312));
    TokenGroups other(5000);
    other.add(33);
    other.add(set);
    EXPECT_THAT(groups_of(other), ElementsAre(0, 1, 2, 63, 64, 312));
}

TEST(TokenGroups, FrequentOnesAreTheLowest) {
    TokenGroups large(248320);
    large.add_frequent();
    EXPECT_EQ(groups_of(large).size(), 1024u);
    EXPECT_EQ(groups_of(large).back(), 1023);
    TokenGroups small(500);
    small.add_frequent();
    EXPECT_EQ(groups_of(small).size(), 32u);
}

}  // namespace
}  // namespace colugo
