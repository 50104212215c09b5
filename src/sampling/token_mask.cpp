#include "sampling/token_mask.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace colugo {

TokenMask::TokenMask(int64_t size, bool all)
    : size_(size), words_(static_cast<size_t>((size + 63) / 64), all ? ~uint64_t{0} : 0) {
    if (all && size % 64 != 0) words_.back() = (uint64_t{1} << (size % 64)) - 1;
}

void TokenMask::set(int64_t id, bool in) {
    COLUGO_CHECK(id >= 0 && id < size_);
    const uint64_t bit = uint64_t{1} << (id & 63);
    uint64_t& word = words_[static_cast<size_t>(id >> 6)];
    word = in ? word | bit : word & ~bit;
}

void TokenMask::clear() {
    std::fill(words_.begin(), words_.end(), uint64_t{0});
}

int64_t TokenMask::count() const {
    int64_t total = 0;
    for (const uint64_t word : words_) total += std::popcount(word);
    return total;
}

}  // namespace colugo
