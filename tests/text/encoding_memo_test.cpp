#include "text/encoding_memo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace colugo {
namespace {

using Ids = std::vector<int32_t>;
using testing::ElementsAre;

// 100 bytes, of which the last says which.
std::string text_of(char which) {
    return std::string(99, '.') + which;
}

TEST(EncodingMemo, AppendsTheIdsOfATextThatWasKept) {
    EncodingMemo memo(10000);
    Ids ids = {7};
    EXPECT_FALSE(memo.append("", text_of('a'), ids));
    memo.keep("", text_of('a'), Ids{1, 2});
    memo.keep("", text_of('b'), Ids{3});
    EXPECT_TRUE(memo.append("", text_of('a'), ids));
    EXPECT_TRUE(memo.append("", text_of('b'), ids));
    EXPECT_FALSE(memo.append("", text_of('c'), ids));
    EXPECT_THAT(ids, ElementsAre(7, 1, 2, 3));
    EXPECT_EQ(memo.found(), 2u);
    memo.keep("", text_of('a'), Ids{1, 2});
    EXPECT_EQ(memo.bytes(), 212u);
}

TEST(EncodingMemo, AScopeKnowsWhatWasKeptInItAlone) {
    EncodingMemo memo(10000);
    Ids ids;
    memo.keep("one", text_of('a'), Ids{1});
    EXPECT_FALSE(memo.append("", text_of('a'), ids));
    EXPECT_FALSE(memo.append("other", text_of('a'), ids));
    memo.keep("other", text_of('a'), Ids{1});
    memo.keep("", text_of('a'), Ids{1});
    for (const char* scope : {"one", "other", ""}) EXPECT_TRUE(memo.append(scope, text_of('a'), ids)) << scope;
    EXPECT_EQ(memo.bytes(), 3u * 104 + 8);
}

TEST(EncodingMemo, KeepsNeitherShortTextsNorSuchAsFillTheRoom) {
    EncodingMemo memo(1000);
    Ids ids;
    for (const std::string& text : {std::string(63, 'x'), std::string(300, 'x')}) {
        memo.keep("", text, Ids{1});
        EXPECT_FALSE(memo.append("", text, ids));
    }
    EXPECT_EQ(memo.bytes(), 0u);
}

TEST(EncodingMemo, TheTextLongestUnusedMakesRoom) {
    EncodingMemo memo(3 * 104);
    Ids ids;
    for (const char which : {'a', 'b', 'c'}) {
        memo.keep("", text_of(which), Ids{which});
    }
    EXPECT_EQ(memo.bytes(), 0u) << "104 bytes are more than a quarter of 312";
    EncodingMemo wider(5 * 104);
    for (const char which : {'a', 'b', 'c', 'd', 'e'}) wider.keep("", text_of(which), Ids{which});
    EXPECT_TRUE(wider.append("", text_of('a'), ids));
    wider.keep("", text_of('f'), Ids{'f'});
    EXPECT_EQ(wider.bytes(), 5u * 104);
    EXPECT_FALSE(wider.append("", text_of('b'), ids));
    for (const char which : {'a', 'c', 'd', 'e', 'f'}) EXPECT_TRUE(wider.append("", text_of(which), ids)) << which;
    EXPECT_THAT(ids, ElementsAre('a', 'a', 'c', 'd', 'e', 'f'));
}

TEST(EncodingMemo, ThreadsMeetInIt) {
    EncodingMemo memo(6 * 104);
    const auto work = [&] {
        for (int i = 0; i < 2000; ++i) {
            const char which = static_cast<char>('a' + i * i % 10);
            Ids ids;
            if (memo.append("", text_of(which), ids)) {
                ASSERT_THAT(ids, ElementsAre(which));
            } else {
                memo.keep("", text_of(which), Ids{which});
            }
        }
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_LE(memo.bytes(), 6u * 104);
    EXPECT_GT(memo.found(), 0u);
}

}  // namespace
}  // namespace colugo
