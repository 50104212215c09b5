// Memory for everything that grows while serving: equal slots in pools, all under one budget of bytes. A slot is shared
// by counting references and is free when the last one goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"

namespace colugo {

class SlotPool;

// used() is what somebody holds. Free slots stay with their pool to be granted again, but what is used and what is kept
// together never exceed the limit: where another pool grows, they go back to the system.
class MemoryBudget {
 public:
    explicit MemoryBudget(uint64_t limit) : limit_(limit) {}
    MemoryBudget(const MemoryBudget&) = delete;
    MemoryBudget& operator=(const MemoryBudget&) = delete;

    uint64_t limit() const { return limit_; }
    uint64_t used() const { return used_; }
    uint64_t kept() const { return kept_; }
    uint64_t available() const { return limit_ - used_; }

    // For memory that is not in slots. take() is false, and changes nothing, where fewer bytes are available.
    bool take(uint64_t bytes);
    void give_back(uint64_t bytes);

 private:
    friend class SlotPool;

    uint64_t limit_;
    uint64_t used_ = 0;
    uint64_t kept_ = 0;  // in free slots that are backed by memory
    std::vector<SlotPool*> pools_;
};

// One reference to a slot, or none.
class SlotRef {
 public:
    SlotRef() = default;
    SlotRef(const SlotRef& other);
    SlotRef(SlotRef&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), slot_(other.slot_) {}
    SlotRef& operator=(SlotRef other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(slot_, other.slot_);
        return *this;
    }
    ~SlotRef();

    explicit operator bool() const { return pool_ != nullptr; }
    std::byte* data() const;
    // Nobody else has it.
    bool unique() const;
    int references() const;
    bool operator==(const SlotRef& other) const { return pool_ == other.pool_ && (!pool_ || slot_ == other.slot_); }
    const SlotPool* pool() const { return pool_; }
    int32_t slot() const { return slot_; }

 private:
    friend class SlotPool;
    SlotRef(SlotPool* pool, int32_t slot) : pool_(pool), slot_(slot) {}

    SlotPool* pool_ = nullptr;
    int32_t slot_ = 0;
};

class SlotPool {
 public:
    // The budget must outlive the pool, and the pool every reference.
    SlotPool(MemoryBudget& budget, size_t slot_bytes);
    ~SlotPool();
    SlotPool(const SlotPool&) = delete;
    SlotPool& operator=(const SlotPool&) = delete;

    // A slot with anything in it, or none where the budget has no more.
    SlotRef grant();

    // What a slot takes from the budget: its bytes in whole pages of the system.
    static uint64_t cost_of(size_t slot_bytes);
    uint64_t slot_cost() const { return slot_cost_; }
    size_t slot_bytes() const { return slot_bytes_; }
    int64_t granted() const { return granted_; }
    // References to each slot ever made; 0: free. For checks.
    const std::vector<int32_t>& references() const { return references_; }

 private:
    friend class SlotRef;
    friend class MemoryBudget;

    std::byte* data(int32_t slot) const;
    int32_t make_slot();
    void release(int32_t slot);
    // Gives the memory of free slots back to the system, until `bytes` are or none is left.
    void drop_kept(uint64_t bytes);

    MemoryBudget& budget_;
    size_t slot_bytes_;
    uint64_t slot_cost_;
    int32_t slots_per_slab_;
    std::vector<Buffer> slabs_;
    std::vector<int32_t> references_;
    std::vector<int32_t> kept_;     // free, with memory
    std::vector<int32_t> dropped_;  // free, without
    int64_t granted_ = 0;
};

}  // namespace colugo
