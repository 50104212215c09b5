#include "kernels/avx512/attention.h"
#include "kernels/amx/tile_products.h"
#include "kernels/generic/attention_bf16.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::amx {

namespace {

void attention_page(const AttentionRows& rows, const AttentionPage& page, std::byte* scratch) {
    if (page.type == KvType::f32 || page.type == KvType::int8) return avx512::attention_page(rows, page, scratch);
    attention_page_bf16<Vec, TileProducts>(rows, page, scratch);
}

}  // namespace

void set_attention(KernelTable& table) {
    avx512::set_attention(table);
    table.attention_page = attention_page;
}

}  // namespace colugo::kernels::amx
