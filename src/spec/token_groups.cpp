#include "spec/token_groups.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "kernels/packed_weight.h"

namespace colugo {

namespace {

constexpr int64_t kBits = 64;

}  // namespace

TokenGroups::TokenGroups(int64_t vocab_size)
    : vocab_size_(vocab_size),
      bits_(static_cast<size_t>((vocab_size + kernels::kPanel * kBits - 1) / (kernels::kPanel * kBits))) {}

void TokenGroups::add(int32_t token) {
    COLUGO_CHECK(token >= 0 && token < vocab_size_);
    const int64_t group = token / kernels::kPanel;
    bits_[static_cast<size_t>(group / kBits)] |= uint64_t{1} << group % kBits;
}

void TokenGroups::add_frequent() {
    for (int64_t token = 0; token < std::min(vocab_size_, kFrequent); token += kernels::kPanel) {
        add(static_cast<int32_t>(token));
    }
}

void TokenGroups::add(const TokenGroups& other) {
    COLUGO_CHECK(other.vocab_size_ == vocab_size_);
    for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
}

void TokenGroups::list(std::vector<int32_t>& groups) const {
    groups.clear();
    for (size_t i = 0; i < bits_.size(); ++i) {
        for (uint64_t left = bits_[i]; left != 0; left &= left - 1) {
            groups.push_back(static_cast<int32_t>(static_cast<int64_t>(i) * kBits + std::countr_zero(left)));
        }
    }
}

}  // namespace colugo
