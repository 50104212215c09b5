#include "kernels/generic/gated_delta_net.h"
#include "kernels/generic/vec_scalar.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::scalar {

void set_gdn(KernelTable& table) {
    table.gdn_page = kernels::gdn_page<Vec>;
    table.gdn_advance = kernels::gdn_advance<Vec>;
}

}  // namespace colugo::kernels::scalar
