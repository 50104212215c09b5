// What each tier gives to the kernel table: files of the same names in every tier's folder, each filling its part.
// Tiers that only multiply otherwise take the rest from the tier below (tier_tables.h). A part holds little more than
// template instances of generic/ for the tier's vector, so that a function compiled for one instruction set is never
// the linker's pick for another.
#pragma once

#include "kernels/kernel_table.h"

#define COLUGO_DECLARE_PART(tier, part)  \
    namespace colugo::kernels::tier {    \
    void set_##part(KernelTable& table); \
    }
#define COLUGO_DECLARE_TIER(tier)        \
    COLUGO_DECLARE_PART(tier, matmul)    \
    COLUGO_DECLARE_PART(tier, row_ops)   \
    COLUGO_DECLARE_PART(tier, attention) \
    COLUGO_DECLARE_PART(tier, gdn)

COLUGO_DECLARE_TIER(scalar)
COLUGO_DECLARE_TIER(avx2)
COLUGO_DECLARE_TIER(avx512)
COLUGO_DECLARE_PART(avx512_bf16, matmul)
COLUGO_DECLARE_PART(avx512_bf16, attention)
COLUGO_DECLARE_PART(amx, matmul)
COLUGO_DECLARE_PART(amx, attention)

#undef COLUGO_DECLARE_PART
#undef COLUGO_DECLARE_TIER
