#include "kernels/generic/row_ops.h"
#include "kernels/generic/vec_scalar.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::scalar {

void set_row_ops(KernelTable& table) {
    set_row_op_kernels<Vec>(table);
}

}  // namespace colugo::kernels::scalar
