// The matmul part of a tier that multiplies in f32 and in 8- or 16-bit integers.
#pragma once

#include "kernels/generic/matmul_codes.h"
#include "kernels/generic/matmul_f32.h"
#include "kernels/generic/prepare_activation.h"

namespace colugo::kernels {

template <class V>
ActivationFormat matmul_activation(WeightFormat weight, ActivationFormat wanted) {
    if (weight == WeightFormat::nvfp4 && wanted == ActivationFormat::bf16) return ActivationFormat::bf16_block16;
    return wanted;
}

template <class V, class W4A4Product, class Block16Product>
void matmul(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch) {
    switch (args.weight->activation) {
        case ActivationFormat::nvfp4:
            return matmul_codes<V, W4A4Product>(args, panel_begin, panel_end, scratch);
        case ActivationFormat::bf16_block16:
            return matmul_codes<V, Block16Product>(args, panel_begin, panel_end, scratch);
        default:
            return matmul_f32<V>(args, panel_begin, panel_end, scratch);
    }
}

template <class V, class W4A4Product, class Block16Product>
void set_matmul_kernels(KernelTable& table) {
    table.matmul_activation = matmul_activation<V>;
    table.activation_row_bytes = activation_row_bytes<V>;
    table.prepare_activation = prepare_activation<V>;
    table.activation_value = activation_value<V>;
    table.matmul = matmul<V, W4A4Product, Block16Product>;
}

}  // namespace colugo::kernels
