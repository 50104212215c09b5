#include "kernels/avx512/matmul.h"

#include "kernels/avx512_bf16/dot_products.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx512_bf16 {

namespace {

// f32 values are multiplied as on avx512. So are nvfp4 activations, whose 16-blocks the integer multiplier sums exactly
// and in half the instructions.
bool multiplied_in_bf16(ActivationFormat format) {
    return format == ActivationFormat::bf16 || format == ActivationFormat::fp8 ||
           format == ActivationFormat::fp8_group128;
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
    matmul_bf16<Vec, DotProducts>(args, panel_begin, panel_end, scratch);
}

}  // namespace

void set_matmul(KernelTable& table) {
    table.matmul_activation = matmul_activation;
    table.activation_row_bytes = activation_row_bytes;
    table.prepare_activation = prepare_activation;
    table.activation_value = activation_value;
    table.matmul = matmul;
}

}  // namespace colugo::kernels::avx512_bf16
