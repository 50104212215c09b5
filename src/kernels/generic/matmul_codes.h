// The matmul of nvfp4 weights with integer activations (nvfp4, bf16_block16): in a block of 16 k the products are
// summed exactly in integers, then scaled, in k order:
//   total = fma(block sum x activation scale, weight scale, total),   y = alpha x total
// With nvfp4 activations every factor of the fused multiply-add is exact, so all tiers that work this way agree bit for
// bit. Product says how one tier does a block of 16 k x V::kWidth columns:
//   Weights      the columns' codes as the multiplier reads them, and their scales
//   RowUnit      64 k of a prepared row
//   Rows         RowGroups: how many rows are multiplied at once
//   kFactor      what y must be multiplied by: the power of two that codes and scales are off by
//   kPieceUnits  units of a panel taken apart at a time: what the first-level cache holds beside the rows
//   load(unit, block, column) -> Weights     from a panel's 576-byte unit
//   multiply<rows, vectors>(sum[rows][vectors], row unit of row 0, row_bytes, block, weights[vectors])
#pragma once

#include "kernels/kernel_table.h"

namespace colugo::kernels {

template <class V, class Product>
void matmul_codes(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch);

}  // namespace colugo::kernels

#include "kernels/generic/matmul_codes.inl"
