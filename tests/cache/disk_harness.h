// States that follow from their tokens, and a store of them whose jobs are waited for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cache/disk_store.h"

namespace colugo::testing {

using Tokens = std::vector<int32_t>;
using Bytes = std::vector<std::byte>;

inline constexpr StateSizes kSizes = {.page = 96, .border = 40, .rows = 72, .tail = 24};
inline constexpr int64_t kPage = 32;

// The first `length` tokens of a conversation.
inline Tokens tokens_of(int32_t conversation, int64_t length) {
    Tokens tokens(static_cast<size_t>(length));
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = conversation * 1'000'000 + static_cast<int32_t>(i);
    return tokens;
}

// A state all of whose bytes follow from its tokens, a full page's from the tokens up to its end.
struct State {
    std::vector<Bytes> pages;
    Bytes border, rows, tail;

    static State empty(int64_t position, const StateSizes& sizes = kSizes) {
        State state;
        state.pages.resize(static_cast<size_t>((position + kPage - 1) / kPage), Bytes(sizes.page));
        state.border.resize(sizes.border);
        state.rows.resize(sizes.rows);
        state.tail.resize(sizes.tail);
        return state;
    }
    static State of(std::span<const int32_t> tokens, const StateSizes& sizes = kSizes) {
        State state = empty(static_cast<int64_t>(tokens.size()), sizes);
        uint32_t piece = 0;
        const auto fill = [&](Bytes& bytes, size_t count) {
            std::seed_seq seed(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
            std::mt19937 random(seed);
            random.discard(piece++);
            for (size_t i = 0; i < bytes.size(); i += sizeof(uint32_t)) {
                const auto word = static_cast<uint32_t>(random());
                std::memcpy(bytes.data() + i, &word, std::min(sizeof word, bytes.size() - i));
            }
        };
        for (size_t page = 0; page < state.pages.size(); ++page) {
            piece = 0;
            fill(state.pages[page], std::min(tokens.size(), (page + 1) * kPage));
        }
        fill(state.border, tokens.size());
        if (tokens.size() % kPage != 0) fill(state.rows, tokens.size());
        fill(state.tail, tokens.size());
        return state;
    }
    StatePieces pieces() {
        StatePieces pieces{{}, border.data(), rows.data(), tail.data()};
        for (Bytes& page : pages) pieces.pages.push_back(page.data());
        return pieces;
    }
    bool operator==(const State&) const = default;
};

// A store whose jobs are waited for.
class TestStore {
 public:
    explicit TestStore(const std::string& folder, uint64_t max_bytes = uint64_t{1} << 30, std::string key = "model A",
                       StateSizes sizes = kSizes)
        : sizes_(sizes),
          store_({.folder = folder,
                  .key = std::move(key),
                  .sizes = sizes,
                  .max_bytes = max_bytes,
                  .log = [this](std::string sentence) { log.push_back(std::move(sentence)); },
                  .on_done = [this] { wake(); }}) {}

    DiskStore* operator->() { return &store_; }

    DiskStore::Done wait() {
        std::unique_lock lock(mutex_);
        done_.wait(lock, [&] { return woken_; });
        woken_ = false;
        lock.unlock();
        std::optional<DiskStore::Done> done = store_.poll();
        EXPECT_TRUE(done.has_value());
        EXPECT_FALSE(store_.busy());
        EXPECT_FALSE(store_.poll().has_value());
        return std::move(*done);
    }
    bool write(const Tokens& tokens, const std::string& scope = "") {
        const Prefix prefix{tokens, scope};
        State state = State::of(tokens, sizes_);
        StatePieces pieces = state.pieces();
        // What is not needed is not looked at.
        for (int64_t page = 0; page < store_.first_page_to_write(prefix); ++page) {
            pieces.pages[static_cast<size_t>(page)] = nullptr;
        }
        store_.start_write(prefix, pieces);
        EXPECT_TRUE(store_.busy());
        const DiskStore::Done done = wait();
        EXPECT_EQ(done.kind, DiskStore::Done::Kind::write);
        EXPECT_EQ(done.prefix.tokens, tokens);
        EXPECT_EQ(done.prefix.scope, scope);
        EXPECT_EQ(done.ok, store_.contains(prefix));
        return done.ok;
    }
    // False where the read fails; never with wrong bytes.
    bool read(const Tokens& tokens, const std::string& scope = "") {
        const Prefix prefix{tokens, scope};
        State state = State::empty(static_cast<int64_t>(tokens.size()), sizes_);
        store_.start_read(prefix, state.pieces());
        const DiskStore::Done done = wait();
        EXPECT_EQ(done.kind, DiskStore::Done::Kind::read);
        EXPECT_EQ(done.prefix.tokens, tokens);
        EXPECT_EQ(done.prefix.scope, scope);
        EXPECT_EQ(done.ok, store_.contains(prefix));
        EXPECT_TRUE(!done.ok || state == State::of(tokens, sizes_));
        return done.ok;
    }
    bool has(const Tokens& tokens, const std::string& scope = "") {
        return store_.contains({tokens, scope}) && read(tokens, scope);
    }

    std::vector<std::string> log;

 private:
    void wake() {
        const std::lock_guard lock(mutex_);
        woken_ = true;
        done_.notify_one();
    }

    StateSizes sizes_;
    std::mutex mutex_;
    std::condition_variable done_;
    bool woken_ = false;
    DiskStore store_;
};

// The names of all files, lock files excepted, with their sizes.
inline std::map<std::string, uint64_t> files_below(const std::string& folder) {
    std::map<std::string, uint64_t> files;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
        if (file.is_regular_file() && file.path().filename() != "lock") files[file.path()] = file.file_size();
    }
    return files;
}

inline uint64_t bytes_below(const std::string& folder) {
    uint64_t bytes = 0;
    for (const auto& [name, size] : files_below(folder)) bytes += size;
    return bytes;
}

// The file of the one entry at this position.
inline std::string file_at(const std::string& folder, int64_t position) {
    for (const auto& [name, size] : files_below(folder)) {
        if (std::stoll(std::filesystem::path(name).filename()) == position) return name;
    }
    return {};
}

inline std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void put_content(const std::string& path, std::string_view content) {
    std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

}  // namespace colugo::testing
