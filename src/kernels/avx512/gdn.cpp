#include "kernels/avx512/vec.h"
#include "kernels/generic/gated_delta_net.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx512 {

void set_gdn(KernelTable& table) {
    table.gdn_page = kernels::gdn_page<Vec>;
    table.gdn_advance = kernels::gdn_advance<Vec>;
}

}  // namespace colugo::kernels::avx512
