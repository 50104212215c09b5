#include "text/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace colugo {
namespace {

using Strings = std::vector<std::string>;

TEST(StopStrings, EndTheTextWhereTheyBegin) {
    StopStrings stops(Strings{"own fox"});
    EXPECT_FALSE(stops.feed("The quick br"));
    EXPECT_EQ(stops.held(), 0);
    EXPECT_FALSE(stops.feed("own "));
    EXPECT_EQ(stops.held(), 4);
    EXPECT_TRUE(stops.feed("fox jumps"));
    EXPECT_EQ(stops.held(), static_cast<int64_t>(std::string_view("own fox jumps").size()));
}

TEST(StopStrings, OnlyWhatMayBeginOneIsHeld) {
    StopStrings stops(Strings{"\n\nUser:", "aab"});
    for (const auto& [bytes, held] : std::vector<std::pair<std::string, int64_t>>{
             {"x\n", 1}, {"\n", 2}, {"\n", 2}, {"User", 6}, {"!", 0}, {"aa", 2}, {"a", 2}, {"", 2}, {"c", 0}}) {
        EXPECT_FALSE(stops.feed(bytes)) << bytes;
        EXPECT_EQ(stops.held(), held) << bytes;
    }
}

TEST(StopStrings, TheFirstThatIsCompleteWinsTheLongestOfThose) {
    StopStrings first(Strings{"abcd", "bc"});
    EXPECT_TRUE(first.feed("xabcd"));
    EXPECT_EQ(first.held(), 3);
    StopStrings longest(Strings{"c", "abc", "bc"});
    EXPECT_TRUE(longest.feed("xabc"));
    EXPECT_EQ(longest.held(), 3);
}

TEST(StopStrings, NoneNeverEnds) {
    StopStrings none(Strings{});
    EXPECT_FALSE(none.feed("anything"));
    EXPECT_EQ(none.held(), 0);
}

TEST(StopStrings, AnEmptyOneIsRefused) {
    EXPECT_THROW(StopStrings(Strings{"a", ""}), Error);
}

// What is held and where a text ends, looked for in the simplest way.
TEST(StopStrings, AgreeWithASearchThroughTheWholeText) {
    std::mt19937 random(5);
    const auto letters = [&](size_t most) {
        std::string text(1 + random() % most, 'a');
        for (char& letter : text) letter = static_cast<char>('a' + random() % 2);
        return text;
    };
    int ended = 0;
    for (int round = 0; round < 3000; ++round) {
        Strings strings;
        for (size_t i = random() % 3; i < 3; ++i) strings.push_back(letters(9));
        StopStrings stops(strings);
        std::string text;
        for (bool complete = false; !complete && text.size() < 60;) {
            const std::string piece = letters(4);
            complete = stops.feed(piece);
            size_t end = std::string::npos, begin = 0;
            for (size_t at = text.size() + 1; at <= text.size() + piece.size() && end == std::string::npos; ++at) {
                for (const std::string& one : strings) {
                    if (!(text + piece).substr(0, at).ends_with(one)) continue;
                    begin = end == std::string::npos ? at - one.size() : std::min(begin, at - one.size());
                    end = at;
                }
            }
            text += piece;
            ASSERT_EQ(complete, end != std::string::npos);
            size_t held = 0;
            for (const std::string& one : strings) {
                for (size_t size = 1; size < one.size(); ++size) {
                    if (text.ends_with(one.substr(0, size))) held = std::max(held, size);
                }
            }
            ASSERT_EQ(stops.held(), static_cast<int64_t>(complete ? text.size() - begin : held)) << text;
            ended += complete;
        }
    }
    EXPECT_GT(ended, 1000);
}

}  // namespace
}  // namespace colugo
