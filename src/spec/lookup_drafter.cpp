#include "spec/lookup_drafter.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace colugo {

namespace {

constexpr int kMostPlaces = 64;  // that are compared

}  // namespace

LookupDrafter::LookupDrafter(int64_t capacity)
    : latest_(std::bit_ceil(static_cast<size_t>(std::max<int64_t>(capacity, 1)) * 2)) {
    tokens_.reserve(static_cast<size_t>(capacity));
    earlier_.reserve(static_cast<size_t>(capacity) + 1);
    earlier_.push_back(0);
}

size_t LookupDrafter::slot(int32_t first, int32_t second) const {
    const uint64_t pair = uint64_t{static_cast<uint32_t>(first)} << 32 | static_cast<uint32_t>(second);
    return static_cast<size_t>(pair * 0x9e3779b97f4a7c15u >> 32) & (latest_.size() - 1);
}

void LookupDrafter::append(int32_t token) {
    COLUGO_CHECK(tokens_.size() < tokens_.capacity());
    tokens_.push_back(token);
    const int64_t end = size();
    earlier_.push_back(0);
    // The pair that ended one token ago: what stands behind it is known now.
    if (end - 1 < text_begin_ + kShortest) return;
    int32_t& latest = latest_[slot(tokens_[static_cast<size_t>(end - 3)], tokens_[static_cast<size_t>(end - 2)])];
    earlier_[static_cast<size_t>(end - 1)] = latest;
    latest = static_cast<int32_t>(end - 1);
}

void LookupDrafter::begin_text() {
    text_begin_ = size();
}

// Tokens before `end` that are those at the end of the text, at most kLongest.
int LookupDrafter::agreement(int64_t end) const {
    int agreed = 0;
    const int64_t last = size();
    while (agreed < kLongest && agreed < end && last - agreed > text_begin_ &&
           tokens_[static_cast<size_t>(end - 1 - agreed)] == tokens_[static_cast<size_t>(last - 1 - agreed)]) {
        ++agreed;
    }
    return agreed;
}

LookupDrafter::Draft LookupDrafter::draft(int64_t most) const {
    const int64_t last = size();
    if (last - text_begin_ < kShortest) return {};
    int64_t place = latest_[slot(tokens_[static_cast<size_t>(last - 2)], tokens_[static_cast<size_t>(last - 1)])];
    int64_t best = 0;
    int agreed = kShortest - 1;
    for (int places = 0; place != 0 && places < kMostPlaces && agreed < kLongest; ++places) {
        if (const int here = agreement(place); here > agreed) {
            agreed = here;
            best = place;
        }
        place = earlier_[static_cast<size_t>(place)];
    }
    if (best == 0) return {};
    const int64_t count = std::min(most, last - best);
    return {std::span(tokens_).subspan(static_cast<size_t>(best), static_cast<size_t>(count)), agreed};
}

}  // namespace colugo
