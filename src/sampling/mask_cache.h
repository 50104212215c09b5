// Masks of the states that were asked about last, of all grammars over one vocabulary together: as many as fit in a
// number of bytes. Once there are so many, nothing more is taken from the heap.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "sampling/token_mask.h"

namespace colugo {

// For one thread at a time, but for new_owner().
class MaskCache {
 public:
    static constexpr int64_t kBytes = 16 << 20;
    static constexpr int64_t kMostMasks = 4096;

    // vocabulary_size: of every mask.
    explicit MaskCache(int64_t vocabulary_size);

    struct Entry {
        TokenMask mask;
        int64_t count;  // of the mask
    };
    // A number for the states of one grammar. From any thread.
    uint32_t new_owner() { return next_owner_++; }
    // Of an owner's state; nullptr: there is none. What is found is used last. Valid until the next call.
    const Entry* find(uint32_t owner, uint32_t state);
    // The entry, with whatever in it, for a state that has none; it takes the place of the one used longest ago.
    Entry& add(uint32_t owner, uint32_t state);

    int64_t size() const { return static_cast<int64_t>(slots_.size()); }
    int64_t most() const { return most_; }

 private:
    static constexpr uint32_t kNone = 0xFFFFFFFF;
    struct Slot {
        Entry entry;
        uint64_t key;
        uint32_t before, after;  // in the order of use
        uint32_t chained;        // the next with the same bucket
    };

    uint32_t& bucket(uint64_t key);
    void unlink(uint32_t slot);
    void put_first(uint32_t slot);
    void forget(uint32_t slot);

    int64_t vocabulary_size_, most_;
    std::vector<Slot> slots_;
    std::vector<uint32_t> buckets_;  // by key: the first slot
    uint32_t first_ = kNone, last_ = kNone;
    std::atomic<uint32_t> next_owner_{0};
};

}  // namespace colugo
