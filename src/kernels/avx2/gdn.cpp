#include "kernels/generic/gated_delta_net.h"
#include "kernels/generic/vec_avx2.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx2 {

void set_gdn(KernelTable& table) {
    table.gdn_page = kernels::gdn_page<Vec>;
    table.gdn_advance = kernels::gdn_advance<Vec>;
}

}  // namespace colugo::kernels::avx2
