// What each tier gives to the kernel table: four files of the same names in every tier's folder, each filling its part.
// A part holds little more than template instances of generic/ for the tier's vector, so that a function compiled for
// one instruction set is never the linker's pick for another.
#pragma once

#include "kernels/kernel_table.h"

#define COLUGO_DECLARE_TIER(tier)           \
    namespace colugo::kernels::tier {       \
    void set_matmul(KernelTable& table);    \
    void set_row_ops(KernelTable& table);   \
    void set_attention(KernelTable& table); \
    void set_gdn(KernelTable& table);       \
    }

COLUGO_DECLARE_TIER(scalar)
COLUGO_DECLARE_TIER(avx2)

#undef COLUGO_DECLARE_TIER
