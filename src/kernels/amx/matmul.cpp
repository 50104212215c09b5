#include "kernels/avx512/matmul.h"
#include "kernels/amx/tile_products.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::amx {

namespace {

// f32 values, and the integers of queries, are multiplied as on avx512.
bool multiplied_in_bf16(ActivationFormat format) {
    return format != ActivationFormat::f32 && format != ActivationFormat::int8;
}

ActivationFormat matmul_activation(WeightFormat, ActivationFormat wanted) {
    return wanted == ActivationFormat::bf16_block16 ? ActivationFormat::bf16 : wanted;
}

size_t activation_row_bytes(ActivationFormat format, int k) {
    return multiplied_in_bf16(format) ? bf16_row_bytes<Vec>(format, k) : avx512::activation_row_bytes(format, k);
}

void prepare_activation(std::byte* out, ActivationFormat format, float input_scale, const float* x, int64_t ldx,
                        int rows, int k) {
    if (!multiplied_in_bf16(format)) return avx512::prepare_activation(out, format, input_scale, x, ldx, rows, k);
    prepare_bf16_rows<Vec>(out, format, input_scale, x, ldx, rows, k);
}

float activation_value(const std::byte* row, ActivationFormat format, int k, int i) {
    return multiplied_in_bf16(format) ? bf16_row_value<Vec>(row, format, k, i)
                                      : avx512::activation_value(row, format, k, i);
}

void matmul(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch) {
    if (!multiplied_in_bf16(args.weight->activation)) return avx512::matmul(args, panel_begin, panel_end, scratch);
    matmul_bf16<Vec, TileProducts>(args, panel_begin, panel_end, scratch);
}

}  // namespace

void set_matmul(KernelTable& table) {
    table.matmul_activation = matmul_activation;
    table.activation_row_bytes = activation_row_bytes;
    table.prepare_activation = prepare_activation;
    table.activation_value = activation_value;
    table.matmul = matmul;
}

}  // namespace colugo::kernels::amx
