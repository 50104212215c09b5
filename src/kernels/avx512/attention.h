// The avx512 tier's attention, for the tiers above it: f32 and int8 pages.
#pragma once

#include "kernels/kernel_table.h"

namespace colugo::kernels::avx512 {

void attention_pages(const AttentionRows& rows, const AttentionPages& pages, std::byte* scratch);

}  // namespace colugo::kernels::avx512
