// Compiled with the emulation included first, as the emulated kernels are: the names of tiers are those of the emulated
// ones.
#include "kernels/emulated_tiers.h"

#include "kernels/tier_tables.h"

namespace colugo::kernels {

bool tier_emulated(Tier tier) {
    return tier >= Tier::avx512;
}

KernelTable emulated_table(Tier tier) {
    KernelTable table{};
    set_kernels(table, tier);
    return table;
}

VectorMathProbe emulated_vector_math() {
    return avx512::vector_math();
}

}  // namespace colugo::kernels
