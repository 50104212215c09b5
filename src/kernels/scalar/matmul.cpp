#include "kernels/generic/matmul.h"

#include "kernels/generic/vec_scalar.h"
#include "kernels/scalar/code_products.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::scalar {

void set_matmul(KernelTable& table) {
    set_matmul_kernels<Vec, W4A4Product, Block16Product>(table);
}

}  // namespace colugo::kernels::scalar
