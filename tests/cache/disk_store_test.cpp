#include "cache/disk_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <set>

#include "cache/disk_harness.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

namespace fs = std::filesystem;
using testing::Bytes;
using testing::bytes_below;
using ::testing::ElementsAre;
using testing::file_at;
using testing::files_below;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kSizes;
using testing::State;
using testing::TempFolder;
using testing::TestStore;
using testing::Tokens;
using testing::tokens_of;

TEST(DiskStore, ReadsBackAChainOfThree) {
    const TempFolder folder;
    TestStore store(folder.path() + "/made/on the way");
    EXPECT_EQ(store->deepest({tokens_of(1, 200)}, 200), 0);
    EXPECT_TRUE(store.write(tokens_of(1, 40)));
    EXPECT_TRUE(store.write(tokens_of(1, 96)));
    EXPECT_EQ(store->first_page_to_write({tokens_of(1, 150)}), 3);
    EXPECT_TRUE(store.write(tokens_of(1, 150)));
    for (const int64_t position : {150, 40, 96}) EXPECT_TRUE(store.read(tokens_of(1, position)));

    EXPECT_EQ(store->deepest({tokens_of(1, 200)}, 200), 150);
    EXPECT_EQ(store->deepest({tokens_of(1, 200)}, 149), 96);
    EXPECT_EQ(store->deepest({tokens_of(1, 39)}, 39), 0);
    EXPECT_EQ(store->deepest({tokens_of(2, 200)}, 200), 0);
    EXPECT_FALSE(store->contains({tokens_of(1, 41)}));
    EXPECT_THAT(store.log, IsEmpty());
    EXPECT_EQ(store->num_entries(), 3u);
    EXPECT_EQ(store->bytes(), bytes_below(folder.path()));
    EXPECT_GT(store->index_bytes(), 150 * sizeof(int32_t));
}

TEST(DiskStore, KeepsEachFullPageOfAPathOnce) {
    const TempFolder folder;
    TestStore store(folder.path());
    store.write(tokens_of(1, 320));
    const uint64_t first = store->bytes();
    store.write(tokens_of(1, 352));
    const uint64_t second = store->bytes() - first;
    EXPECT_GT(first, 10 * kSizes.page);
    // One page, the state, the tokens once more, and the head.
    EXPECT_LT(second, kSizes.page + kSizes.border + kSizes.tail + 352 * sizeof(int32_t) + 200);
}

TEST(DiskStore, AnEntryMayComeBetweenAnotherAndWhatItBuildsOn) {
    const TempFolder folder;
    TestStore store(folder.path());
    for (const int64_t position : {40, 150, 96, 32, 20}) EXPECT_TRUE(store.write(tokens_of(1, position)));
    for (const int64_t position : {20, 32, 40, 96, 150}) EXPECT_TRUE(store.read(tokens_of(1, position)));
}

TEST(DiskStore, PagesNobodyWantsAreNotRead) {
    const TempFolder folder;
    TestStore store(folder.path());
    store.write(tokens_of(1, 64));
    store.write(tokens_of(1, 170));
    fs::remove(file_at(folder.path(), 64));
    State state = State::empty(170);
    StatePieces pieces = state.pieces();
    for (const size_t page : {0u, 1u, 3u}) pieces.pages[page] = nullptr;
    store->start_read({tokens_of(1, 170)}, pieces);
    EXPECT_TRUE(store.wait().ok);
    State expected = State::of(tokens_of(1, 170));
    for (const size_t page : {0u, 1u, 3u}) expected.pages[page] = Bytes(kSizes.page);
    EXPECT_EQ(state, expected);
    EXPECT_FALSE(store.read(tokens_of(1, 170)));  // now they are
}

TEST(DiskStore, PiecesLargerThanItsBuffersAreStreamed) {
    const TempFolder folder;
    const StateSizes sizes = {.page = 3'000'001, .border = 5'000'003, .rows = 1, .tail = 2};
    TestStore store(folder.path(), uint64_t{1} << 30, "large", sizes);
    store.write(tokens_of(1, 32));
    store.write(tokens_of(1, 65));
    EXPECT_TRUE(store.read(tokens_of(1, 65)));
    State state = State::empty(65, sizes);
    StatePieces pieces = state.pieces();
    pieces.pages[1] = nullptr;
    store->start_read({tokens_of(1, 65)}, pieces);
    EXPECT_TRUE(store.wait().ok);
    EXPECT_EQ(state.pages[2], State::of(tokens_of(1, 65), sizes).pages[2]);
    // Zeros, which are small on disk and large again in memory.
    State zeros = State::empty(64, sizes);
    const uint64_t before = store->bytes();
    store->start_write({tokens_of(2, 64)}, zeros.pieces());
    EXPECT_TRUE(store.wait().ok);
    EXPECT_LT(store->bytes() - before, 100'000u);
    State read = State::of(tokens_of(2, 64), sizes);
    read.rows = zeros.rows;
    store->start_read({tokens_of(2, 64)}, read.pieces());
    EXPECT_TRUE(store.wait().ok);
    EXPECT_EQ(read, zeros);
}

TEST(DiskStore, ALaterRunFindsWhatAnEarlierOneLeft) {
    const TempFolder folder;
    {
        TestStore store(folder.path());
        for (const int64_t position : {40, 96, 150}) store.write(tokens_of(1, position));
        store.write(tokens_of(2, 64));
    }
    TestStore store(folder.path());
    EXPECT_THAT(store.log, IsEmpty());
    EXPECT_EQ(store->num_entries(), 4u);
    EXPECT_EQ(store->bytes(), bytes_below(folder.path()));
    EXPECT_TRUE(store.read(tokens_of(1, 150)));
    EXPECT_TRUE(store.read(tokens_of(2, 64)));
    EXPECT_TRUE(store.write(tokens_of(1, 200)));
    EXPECT_TRUE(store.read(tokens_of(1, 200)));
}

TEST(DiskStore, EndsOnlyWhenItsJobHas) {
    const TempFolder folder;
    State state = State::of(tokens_of(1, 64));
    {
        TestStore store(folder.path());
        store->start_write({tokens_of(1, 64)}, state.pieces());
    }
    State read = State::empty(64);
    {
        TestStore store(folder.path());
        EXPECT_THAT(store.log, IsEmpty());
        store->start_read({tokens_of(1, 64)}, read.pieces());
    }
    EXPECT_EQ(read, state);
}

TEST(DiskStore, AJobThatIsGivenUpLosesNothing) {
    constexpr StateSizes kSizesHere = {.page = 200'000, .border = 40, .rows = 72, .tail = 24};
    const Tokens tokens = tokens_of(1, 32 * 1000);
    const TempFolder folder;
    TestStore store(folder.path(), uint64_t{1} << 30, "model A", kSizesHere);
    State state = State::empty(32, kSizesHere);
    StatePieces pieces = state.pieces();
    pieces.pages.resize(1000, pieces.pages.front());  // enough that it cannot end before it is given up
    const auto finish = [&](bool given_up) {
        if (given_up) store->give_up();
        return store.wait().ok;
    };
    store->start_write({tokens}, pieces);
    EXPECT_FALSE(finish(true));
    EXPECT_THAT(store.log, ElementsAre(HasSubstr("took too long")));
    EXPECT_THAT(files_below(folder.path()), IsEmpty());
    store->start_write({tokens}, pieces);
    EXPECT_TRUE(finish(false));
    store->start_read({tokens}, pieces);
    EXPECT_FALSE(finish(true));
    EXPECT_TRUE(store->contains({tokens}));
    store->start_read({tokens}, pieces);
    EXPECT_TRUE(finish(false));
    EXPECT_EQ(store.log.size(), 1u);
}

TEST(DiskStore, ServesOneKeyAndOneSetOfSizes) {
    const TempFolder folder;
    {
        TestStore store(folder.path());
        store.write(tokens_of(1, 40));
    }
    const std::string entry = file_at(folder.path(), 40);
    StateSizes sizes = kSizes;
    std::swap(sizes.rows, sizes.tail);
    {
        TestStore store(folder.path(), 1 << 20, "model A", sizes);
        EXPECT_THAT(store.log, ElementsAre(HasSubstr("other settings")));
        EXPECT_FALSE(store->contains({tokens_of(1, 40)}));
    }
    std::string elsewhere;
    {
        TestStore store(folder.path(), 1 << 20, "model B");
        EXPECT_THAT(store.log, IsEmpty());
        EXPECT_FALSE(store->contains({tokens_of(1, 40)}));
        store.write(tokens_of(1, 41));
        elsewhere = fs::path(file_at(folder.path(), 41)).parent_path();
    }
    EXPECT_NE(elsewhere, fs::path(entry).parent_path());
    fs::copy(entry, elsewhere);
    {
        TestStore store(folder.path(), 1 << 20, "model B");
        EXPECT_THAT(store.log, ElementsAre(HasSubstr("belongs to another model")));
        EXPECT_EQ(store->num_entries(), 1u);
    }
    TestStore store(folder.path());
    EXPECT_TRUE(store.has(tokens_of(1, 40)));
}

TEST(DiskStore, AScopesEntriesAreItsOwn) {
    const TempFolder folder;
    {
        TestStore store(folder.path());
        store.write(tokens_of(1, 40), "a");
        EXPECT_EQ(store->deepest({tokens_of(1, 100), "a"}, 100), 40);
        for (const char* scope : {"", "b", "aa"}) {
            EXPECT_EQ(store->deepest({tokens_of(1, 100), scope}, 100), 0) << scope;
            EXPECT_EQ(store->first_page_to_write({tokens_of(1, 100), scope}), 0) << scope;
        }
        store.write(tokens_of(1, 40));  // the same tokens, another entry
        store.write(tokens_of(1, 100), "b");
    }
    TestStore store(folder.path());
    EXPECT_THAT(store.log, IsEmpty());
    EXPECT_EQ(store->num_entries(), 3u);
    EXPECT_TRUE(store.has(tokens_of(1, 40), "a"));
    EXPECT_TRUE(store.has(tokens_of(1, 40)));
    EXPECT_TRUE(store.has(tokens_of(1, 100), "b"));
    EXPECT_EQ(store->deepest({tokens_of(1, 99), "b"}, 99), 0);
    EXPECT_EQ(store->deepest({tokens_of(1, 100)}, 100), 40);
}

TEST(DiskStore, TheLimitTakesTheLeastRecentlyUsedLeaf) {
    const TempFolder folder;
    uint64_t size = 0;
    std::string of_second;
    {
        TestStore store(folder.path());
        store.write(tokens_of(2, 64));
        size = store->bytes();
        of_second = file_at(folder.path(), 64);
    }
    {
        TestStore store(folder.path(), 4 * size + size / 2);
        store.write(tokens_of(1, 64));
        store.write(tokens_of(1, 100));
        store.write(tokens_of(3, 64));
        EXPECT_EQ(store->num_entries(), 4u);
        EXPECT_TRUE(store.read(tokens_of(2, 64)));
        EXPECT_TRUE(store.read(tokens_of(1, 64)));  // but not the one below
        store.write(tokens_of(4, 64));
        EXPECT_FALSE(store->contains({tokens_of(1, 100)}));
        EXPECT_TRUE(store->contains({tokens_of(1, 64)}));
        store.write(tokens_of(5, 64));
        EXPECT_FALSE(store->contains({tokens_of(3, 64)}));
        EXPECT_TRUE(store->contains({tokens_of(2, 64)}));
        EXPECT_LE(store->bytes(), 4 * size + size / 2);
    }
    // A later run knows what was used last, and may have a lower limit.
    const auto an_hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
    for (const auto& [name, bytes] : files_below(folder.path())) {
        fs::last_write_time(name, an_hour_ago - std::chrono::hours(name == of_second ? 1 : 0));
    }
    {
        TestStore store(folder.path());
        EXPECT_EQ(store->num_entries(), 4u);
        EXPECT_TRUE(store.read(tokens_of(2, 64)));
    }
    TestStore store(folder.path(), size);
    EXPECT_EQ(store->num_entries(), 1u);
    EXPECT_TRUE(store.has(tokens_of(2, 64)));
    EXPECT_EQ(bytes_below(folder.path()), store->bytes());
    EXPECT_THAT(store.log, IsEmpty());
}

// A clock that was wrong once, or somebody else's file.
TEST(DiskStore, AFileOfTheFarFutureIsTheLastThatWasUsed) {
    const TempFolder folder;
    std::string path;
    uint64_t size = 0;
    {
        TestStore store(folder.path());
        store.write(tokens_of(1, 64));
        path = file_at(folder.path(), 64);
        size = store->bytes();
        store.write(tokens_of(2, 64));
    }
    timespec times[2] = {{0, UTIME_OMIT}, {13'600'000'000, 0}};  // in the year 2400
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    TestStore store(folder.path(), size + size / 2);
    EXPECT_TRUE(store->contains({tokens_of(1, 64)}));
    EXPECT_FALSE(store->contains({tokens_of(2, 64)}));
    EXPECT_TRUE(store.write(tokens_of(3, 64)));
    EXPECT_TRUE(store.has(tokens_of(3, 64)));
    EXPECT_FALSE(store->contains({tokens_of(1, 64)}));
}

TEST(DiskStore, WhatExceedsTheLimitByItselfIsNotKept) {
    const TempFolder folder;
    TestStore store(folder.path(), 1500);
    EXPECT_TRUE(store.write(tokens_of(1, 64)));
    EXPECT_TRUE(store.write(tokens_of(2, 32)));
    EXPECT_FALSE(store.write(tokens_of(3, 640)));
    EXPECT_FALSE(store.write(tokens_of(1, 120)));
    EXPECT_THAT(store.log, ElementsAre(HasSubstr("640 was not kept"), HasSubstr("beside those it builds on")));
    EXPECT_TRUE(store.has(tokens_of(1, 64)));
    EXPECT_TRUE(store.has(tokens_of(2, 32)));
    EXPECT_EQ(bytes_below(folder.path()), store->bytes());
}

TEST(DiskStore, HoldsUnderRandomUse) {
    const TempFolder folder;
    constexpr uint64_t kLimit = 12'000;
    std::mt19937 random(11);
    std::set<Tokens> written;
    size_t evicted = 0;
    for (int run = 0; run < 4; ++run) {
        TestStore store(folder.path(), kLimit);
        for (int step = 0; step < 100; ++step) {
            // Few ways that part at 50 and at 100, so that many entries build on each other.
            Tokens tokens = tokens_of(static_cast<int32_t>(random() % 3), 1 + random() % 200);
            if (tokens.size() > 50) tokens[50] = static_cast<int32_t>(random() % 2);
            if (tokens.size() > 100) tokens[100] = static_cast<int32_t>(random() % 2);
            if (store->contains({tokens})) continue;
            if (store.write(tokens)) {
                written.insert(tokens);
            } else {  // with those above
                EXPECT_THAT(store.log, ElementsAre(HasSubstr("does not fit the limit")));
                store.log.clear();
            }
            ASSERT_LE(store->bytes(), kLimit);
            const int64_t deepest = store->deepest({tokens}, static_cast<int64_t>(tokens.size()) - 1);
            ASSERT_TRUE(deepest == 0 || store.read({tokens.begin(), tokens.begin() + deepest}));
        }
        evicted += std::erase_if(written, [&](const Tokens& tokens) { return !store->contains({tokens}); });
        ASSERT_EQ(written.size(), store->num_entries());
        for (const Tokens& tokens : written) ASSERT_TRUE(store.read(tokens));
        EXPECT_THAT(store.log, IsEmpty());
        EXPECT_EQ(bytes_below(folder.path()), store->bytes());
    }
    EXPECT_GT(evicted, 100);
}

}  // namespace
}  // namespace colugo
