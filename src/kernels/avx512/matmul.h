// The avx512 tier's matmul, for the tiers above it: the pairs their own multipliers are not for.
#pragma once

#include "kernels/kernel_table.h"

namespace colugo::kernels::avx512 {

size_t activation_row_bytes(ActivationFormat format, int k);
void prepare_activation(std::byte* out, ActivationFormat format, float input_scale, const float* x, int64_t ldx,
                        int rows, int k);
float activation_value(const std::byte* row, ActivationFormat format, int k, int i);
void matmul(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch);

}  // namespace colugo::kernels::avx512
