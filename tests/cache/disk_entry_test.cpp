#include "cache/disk_entry.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "cache/disk_harness.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

namespace fs = std::filesystem;
using testing::content_of;
using testing::kSizes;
using testing::put_content;
using testing::State;
using testing::TempFolder;
using testing::Tokens;
using testing::tokens_of;

TEST(EntryCodec, RefusesAFileWhateverIsDamaged) {
    const TempFolder folder;
    const std::string path = folder.path() + "/entry";
    EntryCodec codec("model A", kSizes);
    const Tokens tokens = tokens_of(1, 70);
    const Prefix prefix{tokens, "a scope"};
    State state = State::of(tokens);
    const uint64_t bytes = codec.write(path, prefix, 33, state.pieces(), 10'000);
    EXPECT_EQ(bytes, fs::file_size(path));
    const std::string whole = content_of(path);
    const size_t head_bytes = 136 + std::strlen("model A") + prefix.scope.size() + tokens.size() * sizeof(int32_t);
    ASSERT_GT(whole.size(), head_bytes + kSizes.page);
    const auto expect_refused = [&](const std::string& damaged, bool in_head) {
        put_content(path, damaged);
        if (in_head) {
            EXPECT_THROW(codec.read_head(path), Error);
        }
        State read = State::empty(70);
        EXPECT_THROW(codec.read(path, prefix, 33, read.pieces(), EntryCodec::Part::all), Error);
    };
    for (size_t i = 0; i < whole.size(); ++i) {
        SCOPED_TRACE(i);
        for (const int bit : {0, 7}) {
            std::string damaged = whole;
            damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
            expect_refused(damaged, i < head_bytes);
        }
        expect_refused(whole.substr(0, i), true);
    }
    expect_refused(whole + '\0', true);
    expect_refused(std::string(whole.size(), '\0'), true);
    put_content(path, whole);
    State read = State::empty(70);
    codec.read(path, prefix, 33, read.pieces(), EntryCodec::Part::all);
    state.pages.front() = read.pages.front();  // its parent's
    EXPECT_EQ(read, state);
    EXPECT_THROW(codec.read(path, prefix, 32, read.pieces(), EntryCodec::Part::all), Error);
    EXPECT_THROW(codec.read(path, {tokens_of(2, 70), "a scope"}, 33, read.pieces(), EntryCodec::Part::all), Error);
    for (const char* scope : {"", "a scopf", "a scope "}) {
        EXPECT_THROW(codec.read(path, {tokens, scope}, 33, read.pieces(), EntryCodec::Part::all), Error) << scope;
    }
    const EntryHead head = codec.read_head(path);
    EXPECT_EQ(head.prefix.tokens, tokens);
    EXPECT_EQ(head.prefix.scope, "a scope");
}

}  // namespace
}  // namespace colugo
