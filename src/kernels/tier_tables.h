// The parts a tier's table is put together from. Static, because the tests put tables of emulated tiers together by the
// same lines.
#pragma once

#include "kernels/tier_parts.h"

namespace colugo::kernels {

static inline void set_kernels(KernelTable& table, Tier tier) {
    table.tier = tier;
    switch (tier) {
#if defined(__x86_64__)
        case Tier::avx2:
            avx2::set_matmul(table);
            avx2::set_row_ops(table);
            avx2::set_attention(table);
            avx2::set_gdn(table);
            return;
        case Tier::avx512:
            avx512::set_matmul(table);
            avx512::set_row_ops(table);
            avx512::set_attention(table);
            avx512::set_gdn(table);
            return;
        case Tier::avx512_bf16:
            avx512_bf16::set_matmul(table);
            avx512::set_row_ops(table);
            avx512_bf16::set_attention(table);
            avx512::set_gdn(table);
            return;
        case Tier::amx:
            amx::set_matmul(table);
            avx512::set_row_ops(table);
            amx::set_attention(table);
            avx512::set_gdn(table);
            return;
#endif
        default:
            scalar::set_matmul(table);
            scalar::set_row_ops(table);
            scalar::set_attention(table);
            scalar::set_gdn(table);
            return;
    }
}

}  // namespace colugo::kernels
