#include "kernels/generic/row_ops.h"
#include "kernels/avx512/vec.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx512 {

void set_row_ops(KernelTable& table) {
    table.rms_norm = kernels::rms_norm<Vec>;
    table.gated_rms_norm = kernels::gated_rms_norm<Vec>;
    table.l2_norm = kernels::l2_norm<Vec>;
    table.rope = kernels::rope<Vec>;
    table.silu_mul = kernels::silu_mul<Vec>;
    table.sigmoid_mul = kernels::sigmoid_mul<Vec>;
    table.conv_silu = kernels::conv_silu<Vec>;
    table.gdn_gates = kernels::gdn_gates<Vec>;
    table.round_bf16 = kernels::round_bf16<Vec>;
}

}  // namespace colugo::kernels::avx512
