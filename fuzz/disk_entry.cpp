// A snapshot's file of any bytes: it is refused, or read, and what was read is written and read again. Input: a byte of
// options and the file; with option 1 its checksums are put right, so that what lies behind them is reached.
#include <xxhash.h>

#include <cstring>

#include "base/error.h"
#include "cache/disk_entry.h"
#include "fuzz/fuzz_input.h"
#include "support/temp_folder.h"

namespace colugo::fuzz {
namespace {

constexpr StateSizes kSizes = {.page = 96, .border = 40, .rows = 72, .tail = 24};
constexpr int64_t kPage = 32;
constexpr uint64_t kMostBytes = 1 << 20;

// Where things lie in the 136 bytes at the begin of a file.
constexpr size_t kKeyBytesAt = 12, kScopeBytesAt = 16, kPositionAt = 56, kPagesAt = 72, kStateAt = 96,
                 kChecksumAt = 120, kHeadBytes = 136;

uint64_t number_at(const std::string& file, size_t at, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, file.data() + at, bytes);
    return value;
}

void put_hash(std::string& file, size_t at, const XXH128_hash_t& hash) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    std::memcpy(file.data() + at, canonical.digest, sizeof canonical.digest);
}

// Where the sizes in the head fit the file.
void put_checksums_right(std::string& file) {
    if (file.size() < kHeadBytes) return;
    const uint64_t most = file.size();
    const uint64_t key = number_at(file, kKeyBytesAt, 4), scope = number_at(file, kScopeBytesAt, 8);
    const uint64_t position = number_at(file, kPositionAt, 8);
    const uint64_t pages = number_at(file, kPagesAt, 8), state = number_at(file, kStateAt, 8);
    if (key > most || scope > most || position > most || pages > most || state > most) return;
    const uint64_t begin = kHeadBytes + key + scope + 4 * position;
    if (begin + pages + state != most) return;
    put_hash(file, kPagesAt + 8, XXH3_128bits(file.data() + begin, pages));
    put_hash(file, kStateAt + 8, XXH3_128bits(file.data() + begin + pages, state));
    const std::string head = file.substr(0, kChecksumAt) + file.substr(kHeadBytes, begin - kHeadBytes);
    put_hash(file, kChecksumAt, XXH3_128bits(head.data(), head.size()));
}

// Each piece of its own, so that a sanitizer sees a write behind its end.
struct State {
    std::vector<std::vector<std::byte>> pages;
    std::vector<std::byte> border, rows, tail;

    explicit State(int64_t position)
        : pages(static_cast<size_t>((position + kPage - 1) / kPage), std::vector<std::byte>(kSizes.page)),
          border(kSizes.border),
          rows(kSizes.rows),
          tail(kSizes.tail) {}
    StatePieces pieces() {
        StatePieces pieces{{}, border.data(), rows.data(), tail.data()};
        for (std::vector<std::byte>& page : pages) pieces.pages.push_back(page.data());
        return pieces;
    }
    bool operator==(const State&) const = default;
};

void check(const std::string& path, const std::string& again) {
    static EntryCodec codec("k", kSizes);
    const EntryHead head = codec.read_head(path);
    const EntryPlace& place = head.place;
    COLUGO_CHECK(place.parent >= 0 && place.parent < place.position);
    COLUGO_CHECK(head.prefix.tokens.size() == static_cast<size_t>(place.position));
    State full(place.position), state(place.position), copy(place.position);
    codec.read(path, head.prefix, place.parent, full.pieces(), EntryCodec::Part::full_pages);
    codec.read(path, head.prefix, place.parent, state.pieces(), EntryCodec::Part::all);
    for (int64_t page = place.first_page(); page < place.end_full_page(); ++page) {
        COLUGO_CHECK(full.pages[static_cast<size_t>(page)] == state.pages[static_cast<size_t>(page)]);
    }
    codec.write(again, head.prefix, place.parent, state.pieces(), kMostBytes);
    codec.read(again, head.prefix, place.parent, copy.pieces(), EntryCodec::Part::all);
    COLUGO_CHECK(copy == state);
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    static const testing::TempFolder folder;
    fuzz::FuzzInput input(data, size);
    const uint8_t options = input.byte();
    std::string file(input.rest());
    if ((options & 1) != 0) fuzz::put_checksums_right(file);
    try {
        fuzz::check(folder.write("entry", file), folder.path() + "/again");
    } catch (const Error& error) {
        COLUGO_CHECK(error.code() == ErrorCode::invalid_file || error.code() == ErrorCode::unsupported);
    }
    return 0;
}
