#include "kernels/generic/row_ops.h"
#include "kernels/avx512/vec.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx512 {

void set_row_ops(KernelTable& table) {
    set_row_op_kernels<Vec>(table);
}

}  // namespace colugo::kernels::avx512
