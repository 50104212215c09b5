// A snapshot in a file: its prefix, what it builds on, and its bytes, compressed. Everything in the file lies under a
// checksum, which is compared before what it covers is believed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/prefix.h"

namespace colugo {

// The sizes in bytes of what a state is made of.
struct StateSizes {
    uint64_t page = 0;
    uint64_t border = 0;
    uint64_t rows = 0;
    uint64_t tail = 0;
    bool operator==(const StateSizes&) const = default;
};

// Where the pieces of a state at some position lie, or are to lie.
struct StatePieces {
    // [ceil(position / 32)]. A page that is not there to be read or wanted is nullptr.
    std::vector<std::byte*> pages;
    std::byte* border = nullptr;
    std::byte* rows = nullptr;  // left alone where the position is a border
    std::byte* tail = nullptr;
};

// Where an entry stands among those that share its tokens.
struct EntryPlace {
    int64_t position = 0;  // of its snapshot: the number of its tokens
    // The position of the entry whose full pages it builds on: it holds those from there on. 0: it holds all.
    int64_t parent = 0;
    bool operator==(const EntryPlace&) const = default;

    // Its pages are [first_page, end_page); those below end_full_page are full, and others may build on them.
    int64_t first_page() const;
    int64_t end_full_page() const;
    int64_t end_page() const;
};

// What an entry's file says of itself.
struct EntryHead {
    EntryPlace place;
    OwnedPrefix prefix;
    uint64_t file_bytes = 0;
};

// Reads and writes entries of one kind. Files are streamed: it keeps two buffers of 1 MiB and the contexts of zstd,
// less than 6 MiB together, whatever the size of a snapshot.
class EntryCodec {
 public:
    // key: names what the bytes of a state depend on beside its tokens. Entries with another key or other sizes are
    // refused.
    EntryCodec(std::string key, StateSizes sizes);
    ~EntryCodec();

    // All of these throw io or not_found where the system refuses; and on reading invalid_file where the file is not
    // what was written, unsupported where it is an entry of another kind.

    // The head, checked, and the file's length against it; the pages and the rest of the state are not read.
    EntryHead read_head(const std::string& path) const;

    // Makes the file, over what is there. Returns its bytes; throws resource_exhausted when they would be more than
    // `most_bytes`. A file that was begun is left to the caller. It is not synced: what a power cut leaves of it does
    // not fit its checksums.
    uint64_t write(const std::string& path, const Prefix& prefix, int64_t parent, const StatePieces& from,
                   uint64_t most_bytes);

    enum class Part {
        all,         // pages and the rest of the state
        full_pages,  // what an entry further on builds on
    };
    // Fills what is wanted from the file, which must be this prefix's. Where it throws, anything may be in there.
    void read(const std::string& path, const Prefix& prefix, int64_t parent, const StatePieces& to, Part part);

    // From any thread: while it is set, write() and read() soon throw io.
    void give_up(bool given_up) { given_up_ = given_up; }

 private:
    struct Contexts;

    std::vector<std::span<std::byte>> state_of(int64_t position, const StatePieces& pieces) const;

    std::string key_;
    StateSizes sizes_;
    std::atomic<bool> given_up_ = false;
    std::unique_ptr<Contexts> contexts_;
};

}  // namespace colugo
