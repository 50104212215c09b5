// The matmul of the pairs that are multiplied in f32. Each output is
//   y = alpha x (one chain of fused multiply-adds in k order, from 0)
// and with fp8_block128 weights the chain is cut every 128 k and the partial sums are folded in k order:
//   total = fma(partial, weight block scale x row group scale, total)
// A few rows take the panels straight from memory; more rows share a piece of a panel unpacked to the first-level
// cache. Both are the same chains.
#pragma once

#include "kernels/kernel_table.h"

namespace colugo::kernels {

// Any weight format; activations are f32 rows: f32, bf16, fp8, fp8_group128.
template <class V>
void matmul_f32(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch);

// y[row][panel's columns below n] = alpha x sums[row][0..16), or += with args.add (one fused multiply-add).
template <class V>
void store_panel(const MatmulArgs& args, int row_begin, int rows, int panel, const float* sums, int64_t ld_sums,
                 float alpha);

}  // namespace colugo::kernels

#include "kernels/generic/matmul_f32.inl"
