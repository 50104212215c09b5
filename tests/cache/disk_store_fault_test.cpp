// A DiskStore over files that are damaged, gone or not its own, over a disk that refuses, and over what a killed
// process left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include "cache/disk_harness.h"
#include "cache/disk_store.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

namespace fs = std::filesystem;
using testing::content_of;
using ::testing::ElementsAre;
using testing::file_at;
using testing::files_below;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::put_content;
using testing::TempFolder;
using testing::TestStore;
using testing::Tokens;
using testing::tokens_of;

// A file is damaged all over, of a parent at 33 or of an entry at 70, while both are put right for the next damage.

TEST(DiskStore, ReadsNothingFromADamagedFile) {
    const TempFolder folder;
    std::map<int64_t, std::string> files, contents;
    {
        TestStore store(folder.path());
        for (const int64_t position : {33, 70}) {
            store.write(tokens_of(1, position));
            files[position] = file_at(folder.path(), position);
            contents[position] = content_of(files[position]);
        }
    }
    const auto expect_refused = [&](int64_t damaged_position, const std::string& damaged) {
        for (const auto& [position, content] : contents) {
            put_content(files[position], position == damaged_position ? damaged : content);
        }
        TestStore store(folder.path());
        const bool reads_entry = store.has(tokens_of(1, 70));  // where the parent's damage does not concern it
        EXPECT_FALSE(reads_entry && damaged_position == 70);
        EXPECT_EQ(store.has(tokens_of(1, 33)), damaged_position == 70);
        EXPECT_EQ(store->num_entries(), damaged_position == 70 ? 1u : 0u);
        EXPECT_GE(store.log.size(), 1u);
        EXPECT_LE(store.log.size(), 2u);
    };
    for (const auto& [position, whole] : contents) {
        for (size_t i = 0; i < whole.size(); i += 11) {
            SCOPED_TRACE(i);
            std::string damaged = whole;
            damaged[i] = static_cast<char>(damaged[i] ^ 4);
            expect_refused(position, damaged);
            expect_refused(position, whole.substr(0, i));
        }
    }
}

TEST(DiskStore, WhatIsNotItsOwnIsLeftAlone) {
    const TempFolder folder;
    std::string mine;
    {
        TestStore store(folder.path());
        store.write(tokens_of(1, 40));
        mine = fs::path(file_at(folder.path(), 40)).parent_path();
    }
    const std::string entry = file_at(folder.path(), 40);
    folder.write("notes.txt", "beside");
    put_content(mine + "/notes.txt", "within");
    put_content(mine + "/0000000040-7.snapshot", "a name no entry has");
    fs::create_directory(mine + "/0000000041-00000007.snapshot");
    fs::create_symlink(entry, mine + "/0000000042-00000007.snapshot");
    ASSERT_EQ(mkfifo((mine + "/0000000043-00000007.snapshot").c_str(), 0600), 0);
    std::string other_version = content_of(entry);
    other_version[8] = 99;
    put_content(mine + "/0000000044-00000007.snapshot", other_version);
    const auto before = files_below(folder.path());
    TestStore store(folder.path());
    EXPECT_THAT(store.log, ::testing::UnorderedElementsAre(HasSubstr("notes.txt is left alone"),
                                                           HasSubstr("0000000040-7.snapshot is left alone"),
                                                           HasSubstr("0000000041"), HasSubstr("0000000042"),
                                                           HasSubstr("0000000043"), HasSubstr("format version 99")));
    EXPECT_EQ(store->num_entries(), 1u);
    EXPECT_TRUE(store.write(tokens_of(1, 50)));
    EXPECT_TRUE(store.read(tokens_of(1, 50)));
    for (const auto& [name, size] : before) EXPECT_EQ(fs::file_size(name), size);
}

TEST(DiskStore, AFilesNameProvesNothing) {
    const TempFolder folder;
    std::string first, second;
    {
        TestStore store(folder.path());
        store.write(tokens_of(1, 40));
        first = file_at(folder.path(), 40);
        store.write(tokens_of(2, 50));
        second = file_at(folder.path(), 50);
        // Another entry's content, whole and of the right kind, appears under the name.
        fs::copy_file(second, first, fs::copy_options::overwrite_existing);
        EXPECT_FALSE(store.read(tokens_of(1, 40)));
        EXPECT_THAT(store.log, ElementsAre(HasSubstr("is not the snapshot it was")));
        EXPECT_TRUE(store.has(tokens_of(2, 50)));
        EXPECT_TRUE(store.write(tokens_of(1, 40)));
        EXPECT_TRUE(store.read(tokens_of(1, 40)));
    }
    fs::copy_file(second, second.substr(0, second.rfind('/')) + "/0000000050-00000099.snapshot");
    fs::copy_file(second, second.substr(0, second.rfind('/')) + "/0000000051-00000099.snapshot");
    TestStore store(folder.path());
    EXPECT_THAT(store.log, ElementsAre(HasSubstr("another file has too"), HasSubstr("holds a snapshot at 50")));
    EXPECT_EQ(store->num_entries(), 2u);
    EXPECT_TRUE(store.has(tokens_of(2, 50)));
}

TEST(DiskStore, WhatBuiltOnALostEntryIsLostWithIt) {
    const TempFolder folder;
    Tokens branch = tokens_of(1, 64);
    branch.resize(100, 7);
    {
        TestStore store(folder.path());
        for (const int64_t position : {32, 64, 96, 130}) store.write(tokens_of(1, position));
        store.write(branch);
        store.write(tokens_of(2, 70));
        fs::remove(file_at(folder.path(), 64));
        EXPECT_FALSE(store.read(tokens_of(1, 130)));
        EXPECT_THAT(store.log, ElementsAre(HasSubstr("64 was lost on disk, with 3 that build on it")));
        EXPECT_EQ(store->num_entries(), 2u);
        EXPECT_TRUE(store.has(tokens_of(1, 32)));
        EXPECT_TRUE(store.has(tokens_of(2, 70)));
        EXPECT_TRUE(store.write(tokens_of(1, 64)));
        EXPECT_TRUE(store.write(tokens_of(1, 96)));
    }
    EXPECT_EQ(files_below(folder.path()).size(), 4u);
    fs::remove(file_at(folder.path(), 32));
    TestStore store(folder.path());
    EXPECT_THAT(store.log, ElementsAre(HasSubstr("builds on a snapshot that is missing"),
                                       HasSubstr("builds on a snapshot that is missing")));
    EXPECT_EQ(store->num_entries(), 1u);
    EXPECT_TRUE(store.has(tokens_of(2, 70)));
    EXPECT_EQ(files_below(folder.path()).size(), 1u);
}

// Every entry there is can be read, the limit holds, and disk and index agree: whatever came before.

// No file may grow beyond `bytes` while it lives.

class FileSizeLimit {
 public:
    explicit FileSizeLimit(uint64_t bytes) {
        handler_ = signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit = {bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        setrlimit(RLIMIT_FSIZE, &before_);
        signal(SIGXFSZ, handler_);
    }

 private:
    rlimit before_;
    sighandler_t handler_;
};

TEST(DiskStore, AWriteThatFailsIsOneSentence) {
    const TempFolder folder;
    TestStore store(folder.path());
    store.write(tokens_of(1, 40));
    {
        const FileSizeLimit limit(700);
        EXPECT_FALSE(store.write(tokens_of(1, 400)));
    }
    EXPECT_THAT(store.log, ElementsAre(HasSubstr("400 was not kept on disk: cannot write")));
    EXPECT_EQ(files_below(folder.path()).size(), 1u);
    EXPECT_TRUE(store.write(tokens_of(1, 400)));
    EXPECT_TRUE(store.read(tokens_of(1, 400)));
    fs::remove_all(folder.path());
    EXPECT_FALSE(store.write(tokens_of(2, 40)));
    EXPECT_EQ(store.log.size(), 2u);
}

TEST(DiskStore, RefusesAFolderItCannotHave) {
    const TempFolder folder;
    EXPECT_ERROR(ErrorCode::io, "cannot make", TestStore(folder.write("file", "") + "/folder"));
    TestStore store(folder.path());
    EXPECT_ERROR(ErrorCode::invalid_argument, "in use by another process", TestStore(folder.path()));
    TestStore other(folder.path(), 1000, "model B");
}

// Large enough that a kill finds a file half written.

constexpr StateSizes kLargeSizes = {.page = 100'000, .border = 150'000, .rows = 50'000, .tail = 10'000};

// Writes conversations until it is killed, from the first that is not there.

[[noreturn]] void write_until_killed(const std::string& folder) {
    TestStore store(folder, uint64_t{1} << 30, "model A", kLargeSizes);
    for (int32_t conversation = 0;; ++conversation) {
        for (const int64_t position : {40, 300, 310}) {
            const Tokens tokens = tokens_of(conversation, position);
            if (!store->contains({tokens}) && !store.write(tokens)) _exit(1);
        }
    }
}

// While somebody writes there.

size_t count_entries(const std::string& folder) {
    size_t count = 0;
    for (const auto& file : fs::recursive_directory_iterator(folder)) count += file.path().extension() == ".snapshot";
    return count;
}

TEST(DiskStore, AKilledWriterLeavesAFolderThatOpensClean) {
    const TempFolder folder;
    std::mt19937 random(3);
    size_t entries = 0;
    for (int round = 0; round < 12; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) write_until_killed(folder.path());
        int status = 0;
        while (count_entries(folder.path()) == entries && waitpid(child, &status, WNOHANG) == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 10'000));
        kill(child, SIGKILL);
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status));
        const size_t left = count_entries(folder.path());
        TestStore store(folder.path(), uint64_t{1} << 30, "model A", kLargeSizes);
        EXPECT_THAT(store.log, IsEmpty());
        EXPECT_EQ(store->num_entries(), left);
        size_t read = 0;
        for (int32_t conversation = 0; store->contains({tokens_of(conversation, 40)}); ++conversation) {
            for (const int64_t position : {40, 300, 310}) read += store.has(tokens_of(conversation, position)) ? 1 : 0;
        }
        EXPECT_EQ(read, left);
        entries = left;
    }
    for (const auto& [name, size] : files_below(folder.path())) EXPECT_THAT(name, ::testing::EndsWith(".snapshot"));
}

}  // namespace
}  // namespace colugo
