// Rows that lie `stride` apart, for kernels that read the same place of many of them. More than six share a pointer by
// threes, because an address adds up to twice the stride for nothing and a dozen pointers do not fit the registers.
#pragma once

#include <cstddef>

#include "kernels/generic/unroll.h"

namespace colugo::kernels {

template <class T, int kRows>
class RowBases {
 public:
    RowBases(const T* first, ptrdiff_t stride) : stride_(stride) {
        COLUGO_UNROLL for (int i = 0; i < kBases; ++i) bases_[i] = first + kShared * i * stride;
    }
    const T* row(int index) const { return bases_[index / kShared] + index % kShared * stride_; }
    void advance(ptrdiff_t count) { COLUGO_UNROLL for (int i = 0; i < kBases; ++i) bases_[i] += count; }

 private:
    static constexpr int kShared = kRows > 6 ? 3 : kRows;
    static constexpr int kBases = (kRows + kShared - 1) / kShared;
    const T* bases_[kBases];
    ptrdiff_t stride_;
};

}  // namespace colugo::kernels
