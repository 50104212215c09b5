#include "sampling/mask_cache.h"

#include <algorithm>
#include <bit>

namespace colugo {
namespace {

uint64_t key_of(uint32_t owner, uint32_t state) {
    return uint64_t{owner} << 32 | state;
}

}  // namespace

MaskCache::MaskCache(int64_t vocabulary_size)
    : vocabulary_size_(vocabulary_size),
      most_(std::clamp(kBytes / (vocabulary_size / 8 + static_cast<int64_t>(sizeof(Slot))), int64_t{16}, kMostMasks)),
      buckets_(std::bit_ceil(static_cast<size_t>(most_)), kNone) {
    slots_.reserve(static_cast<size_t>(most_));
}

uint32_t& MaskCache::bucket(uint64_t key) {
    return buckets_[(key * 0x9E3779B97F4A7C15u >> 32) & (buckets_.size() - 1)];
}

void MaskCache::unlink(uint32_t slot) {
    const Slot& gone = slots_[slot];
    (gone.before != kNone ? slots_[gone.before].after : first_) = gone.after;
    (gone.after != kNone ? slots_[gone.after].before : last_) = gone.before;
}

void MaskCache::put_first(uint32_t slot) {
    slots_[slot].before = kNone;
    slots_[slot].after = first_;
    (first_ != kNone ? slots_[first_].before : last_) = slot;
    first_ = slot;
}

void MaskCache::forget(uint32_t slot) {
    uint32_t* link = &bucket(slots_[slot].key);
    while (*link != slot) link = &slots_[*link].chained;
    *link = slots_[slot].chained;
    unlink(slot);
}

const MaskCache::Entry* MaskCache::find(uint32_t owner, uint32_t state) {
    const uint64_t key = key_of(owner, state);
    uint32_t slot = bucket(key);
    while (slot != kNone && slots_[slot].key != key) slot = slots_[slot].chained;
    if (slot == kNone) return nullptr;
    if (slot != first_) {
        unlink(slot);
        put_first(slot);
    }
    return &slots_[slot].entry;
}

MaskCache::Entry& MaskCache::add(uint32_t owner, uint32_t state) {
    const uint64_t key = key_of(owner, state);
    uint32_t slot = last_;
    if (size() < most_) {
        slot = static_cast<uint32_t>(size());
        slots_.push_back({{TokenMask(vocabulary_size_, false), 0}, key, kNone, kNone, kNone});
    } else {
        forget(slot);
        slots_[slot].key = key;
    }
    slots_[slot].chained = bucket(key);
    bucket(key) = slot;
    put_first(slot);
    return slots_[slot].entry;
}

}  // namespace colugo
