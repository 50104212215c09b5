#include "cache/page_pool.h"

#include <cstring>

#include "base/error.h"

namespace colugo {

namespace {
constexpr int64_t kSlabPages = 16;
}

PagePool::PagePool(int64_t page_bytes, int64_t max_pages) : page_bytes_(page_bytes), max_pages_(max_pages) {
    COLUGO_CHECK(page_bytes > 0 && max_pages >= 0);
    free_.reserve(static_cast<size_t>(max_pages));
}

std::byte* PagePool::grant() {
    if (granted() == max_pages_) {
        fail(ErrorCode::resource_exhausted, "all {} attention pages are in use", max_pages_);
    }
    if (!free_.empty()) {
        std::byte* page = free_.back();
        free_.pop_back();
        std::memset(page, 0, static_cast<size_t>(page_bytes_));
        owned_.insert(page);
        return page;
    }
    const int64_t slot = carved_ % kSlabPages;
    if (slot == 0) slabs_.emplace_back(static_cast<size_t>(page_bytes_ * kSlabPages));
    std::byte* page = slabs_.back().data() + slot * page_bytes_;  // a fresh slab is zero
    owned_.insert(page);
    ++carved_;
    return page;
}

void PagePool::release(std::byte* page) {
    COLUGO_CHECK(owned_.erase(page) == 1);
    free_.push_back(page);
}

}  // namespace colugo
