#include "kernels/avx512/matmul.h"

#include "kernels/avx512/vec.h"
#include "kernels/generic/code_products_avx512.h"
#include "kernels/generic/matmul.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx512 {

size_t activation_row_bytes(ActivationFormat format, int k) {
    return kernels::activation_row_bytes<Vec>(format, k);
}

void prepare_activation(std::byte* out, ActivationFormat format, float input_scale, const float* x, int64_t ldx,
                        int rows, int k) {
    kernels::prepare_activation<Vec>(out, format, input_scale, x, ldx, rows, k);
}

float activation_value(const std::byte* row, ActivationFormat format, int k, int i) {
    return kernels::activation_value<Vec>(row, format, k, i);
}

void matmul(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch) {
    kernels::matmul<Vec, VnniW4A4Product<Vec>, VnniBlock16Product<Vec>>(args, panel_begin, panel_end, scratch);
}

void set_matmul(KernelTable& table) {
    table.matmul_activation = kernels::matmul_activation<Vec>;
    table.activation_row_bytes = activation_row_bytes;
    table.prepare_activation = prepare_activation;
    table.activation_value = activation_value;
    table.matmul = matmul;
}

}  // namespace colugo::kernels::avx512
