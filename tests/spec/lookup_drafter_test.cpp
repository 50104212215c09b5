#include "spec/lookup_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace colugo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Tokens = std::vector<int32_t>;

Tokens drafted(const LookupDrafter& drafter, int64_t most) {
    const std::span<const int32_t> tokens = drafter.draft(most).tokens;
    return {tokens.begin(), tokens.end()};
}

TEST(LookupDrafter, GivesWhatFollowedTheLongestAgreement) {
    LookupDrafter drafter(100);
    EXPECT_THAT(drafted(drafter, 4), IsEmpty());
    drafter.append(Tokens{1, 2, 3, 4, 5, 9, 2, 3, 7, 8, 9, 1, 2, 3});
    EXPECT_THAT(drafted(drafter, 3), ElementsAre(4, 5, 9));  // 1 2 3 agrees in more than the later 2 3
    EXPECT_EQ(drafter.draft(3).agreed, 3);
    drafter.append(7);
    EXPECT_THAT(drafted(drafter, 10), ElementsAre(8, 9, 1, 2, 3, 7));
    drafter.append(50);
    EXPECT_THAT(drafted(drafter, 10), IsEmpty());
}

TEST(LookupDrafter, TheLatestOfEqualPlacesCounts) {
    LookupDrafter drafter(100);
    drafter.append(Tokens{1, 2, 3, 6, 1, 2, 4, 6, 1, 2});
    EXPECT_THAT(drafted(drafter, 1), ElementsAre(4));
}

TEST(LookupDrafter, ARunGoesOn) {
    LookupDrafter drafter(100);
    drafter.append(Tokens{5, 5, 5, 5});
    EXPECT_THAT(drafted(drafter, 3), ElementsAre(5));
}

TEST(LookupDrafter, AnotherTextIsLookedUpButNotJoined) {
    LookupDrafter drafter(100);
    drafter.append(Tokens{1, 2, 3, 4});
    drafter.begin_text();
    drafter.append(2);
    EXPECT_THAT(drafted(drafter, 4), IsEmpty());  // 4 2 is no pair of one text, and one token is too few
    drafter.append(3);
    EXPECT_THAT(drafted(drafter, 1), ElementsAre(4));
}

// Against a search of all places.
TEST(LookupDrafter, AgreesWithASearch) {
    std::mt19937 random(3);
    int found = 0;
    for (int round = 0; round < 200; ++round) {
        LookupDrafter drafter(64);
        Tokens text;
        for (int i = 0; i < 60; ++i) {
            text.push_back(static_cast<int32_t>(random() % 3));
            drafter.append(text.back());
            const auto length = static_cast<int>(text.size());
            int best = 0, agreed = 1;
            for (int place = length - 1; place >= 2; --place) {  // a token stands behind it
                int here = 0;
                while (here < 8 && here < place &&
                       text[static_cast<size_t>(place - 1 - here)] == text[static_cast<size_t>(length - 1 - here)]) {
                    ++here;
                }
                if (here > agreed) {
                    agreed = here;
                    best = place;
                }
            }
            const LookupDrafter::Draft draft = drafter.draft(5);
            EXPECT_EQ(draft.agreed, best > 0 ? agreed : 0);
            if (best > 0) {
                const Tokens expected(text.begin() + best, text.begin() + std::min(best + 5, length));
                EXPECT_EQ(Tokens(draft.tokens.begin(), draft.tokens.end()), expected);
                ++found;
            }
        }
    }
    EXPECT_GT(found, 5000);
}

}  // namespace
}  // namespace colugo
