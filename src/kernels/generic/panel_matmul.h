// The fp32 multiplier every product that is not on a wider unit goes through: activations times one 16-column panel.
#pragma once

#include <cstdint>

namespace colugo::kernels {

// c[row * ldc + 0..16) (+)= sum over k ascending of a[row * lda + k] * b[k * ldb + 0..16).
// Every output is one chain of fused multiply-adds in k order, starting from 0 or, with `accumulate`, from c: so the
// result is the same for any number of rows and for any cut of k into calls.
template <class V>
void panel_matmul(float* c, int64_t ldc, const float* a, int64_t lda, int rows, const float* b, int64_t ldb, int k,
                  bool accumulate);

}  // namespace colugo::kernels

#include "kernels/generic/panel_matmul.inl"
