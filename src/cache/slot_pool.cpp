#include "cache/slot_pool.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"

namespace colugo {

namespace {

constexpr size_t kSystemPage = 4096;
constexpr size_t kSlabBytes = size_t{4} << 20;

}  // namespace

bool MemoryBudget::take(uint64_t bytes) {
    if (bytes > available()) return false;
    used_ += bytes;
    for (SlotPool* pool : pools_) {
        if (used_ + kept_ <= limit_) break;
        pool->drop_kept(used_ + kept_ - limit_);
    }
    COLUGO_CHECK(used_ + kept_ <= limit_);
    return true;
}

void MemoryBudget::give_back(uint64_t bytes) {
    COLUGO_CHECK(bytes <= used_);
    used_ -= bytes;
}

SlotRef::SlotRef(const SlotRef& other) : pool_(other.pool_), slot_(other.slot_) {
    if (pool_ != nullptr) ++pool_->references_[static_cast<size_t>(slot_)];
}

SlotRef::~SlotRef() {
    if (pool_ != nullptr) pool_->release(slot_);
}

std::byte* SlotRef::data() const {
    return pool_ != nullptr ? pool_->data(slot_) : nullptr;
}

int SlotRef::references() const {
    return pool_ != nullptr ? pool_->references_[static_cast<size_t>(slot_)] : 0;
}

bool SlotRef::unique() const {
    return references() == 1;
}

SlotPool::SlotPool(MemoryBudget& budget, size_t slot_bytes)
    : budget_(budget),
      slot_bytes_(slot_bytes),
      slot_cost_(cost_of(slot_bytes)),
      slots_per_slab_(static_cast<int32_t>(std::max<uint64_t>(1, kSlabBytes / slot_cost_))) {
    COLUGO_CHECK(slot_bytes > 0);
    budget_.pools_.push_back(this);
}

SlotPool::~SlotPool() {
    COLUGO_CHECK(granted_ == 0);
    budget_.kept_ -= kept_.size() * slot_cost_;
    std::erase(budget_.pools_, this);
}

uint64_t SlotPool::cost_of(size_t slot_bytes) {
    return (slot_bytes + kSystemPage - 1) / kSystemPage * kSystemPage;
}

std::byte* SlotPool::data(int32_t slot) const {
    return slabs_[static_cast<size_t>(slot / slots_per_slab_)].data() +
           static_cast<uint64_t>(slot % slots_per_slab_) * slot_cost_;
}

int32_t SlotPool::make_slot() {
    const auto slot = static_cast<int32_t>(references_.size());
    if (slot % slots_per_slab_ == 0) {
        slabs_.emplace_back(static_cast<size_t>(slots_per_slab_) * slot_cost_);
        // Lists that a step must not have to grow.
        const size_t slots = slabs_.size() * static_cast<size_t>(slots_per_slab_);
        references_.reserve(slots);
        kept_.reserve(slots);
        dropped_.reserve(slots);
    }
    references_.push_back(0);
    return slot;
}

SlotRef SlotPool::grant() {
    if (budget_.available() < slot_cost_) return {};
    const bool kept = !kept_.empty();
    if (!kept && dropped_.empty()) dropped_.push_back(make_slot());
    std::vector<int32_t>& free = kept ? kept_ : dropped_;
    const int32_t slot = free.back();
    free.pop_back();
    if (kept) budget_.kept_ -= slot_cost_;
    COLUGO_CHECK(budget_.take(slot_cost_));
    references_[static_cast<size_t>(slot)] = 1;
    ++granted_;
    return SlotRef(this, slot);
}

void SlotPool::release(int32_t slot) {
    int32_t& references = references_[static_cast<size_t>(slot)];
    COLUGO_CHECK(references > 0);
    if (--references > 0) return;
    --granted_;
    budget_.give_back(slot_cost_);
    budget_.kept_ += slot_cost_;
    kept_.push_back(slot);
}

void SlotPool::drop_kept(uint64_t bytes) {
    while (bytes > 0 && !kept_.empty()) {
        const int32_t slot = kept_.back();
        kept_.pop_back();
        dropped_.push_back(slot);
        madvise(data(slot), slot_cost_, MADV_DONTNEED);  // advice that always holds for private anonymous memory
        budget_.kept_ -= slot_cost_;
        bytes -= std::min(bytes, slot_cost_);
    }
}

}  // namespace colugo
