#include "kernels/generic/matmul.h"

#include "kernels/avx2/code_products.h"
#include "kernels/generic/vec_avx2.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx2 {

void set_matmul(KernelTable& table) {
    set_matmul_kernels<Vec, W4A4Product, Block16Product>(table);
}

}  // namespace colugo::kernels::avx2
