// Tables of the tiers' own kernels in which every AVX-512 and AMX instruction is emulated: they run wherever avx2 does.
#pragma once

#include "kernels/kernel_table.h"
#include "kernels/vector_math_probe.h"

namespace colugo::kernels {

// Whether the tests of this architecture emulate the tier.
bool tier_emulated(Tier tier);
KernelTable emulated_table(Tier tier);
VectorMathProbe emulated_vector_math();

}  // namespace colugo::kernels
