// Owner of every attention page. Pages are granted zeroed and stay where they are until released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/buffer.h"

namespace colugo {

class PagePool {
 public:
    // page_bytes: PageLayout::page_bytes. Memory is taken from the system as pages are first granted.
    PagePool(int64_t page_bytes, int64_t max_pages);

    // A zeroed page. Throws resource_exhausted when max_pages are granted.
    std::byte* grant();
    void release(std::byte* page);

    int64_t page_bytes() const { return page_bytes_; }
    int64_t max_pages() const { return max_pages_; }
    int64_t granted() const { return static_cast<int64_t>(owned_.size()); }

 private:
    int64_t page_bytes_;
    int64_t max_pages_;
    int64_t carved_ = 0;                    // pages ever cut out of slabs_
    std::vector<Buffer> slabs_;             // kSlabPages each
    std::unordered_set<std::byte*> owned_;  // granted and not released
    std::vector<std::byte*> free_;          // released, to be granted again
};

}  // namespace colugo
