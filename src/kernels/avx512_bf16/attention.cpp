#include "kernels/avx512/attention.h"

#include "kernels/avx512_bf16/dot_products.h"
#include "kernels/generic/attention_bf16.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx512_bf16 {

namespace {

void attention_pages(const AttentionRows& rows, const AttentionPages& pages, std::byte* scratch) {
    if (pages.type == KvType::f32 || pages.type == KvType::int8) return avx512::attention_pages(rows, pages, scratch);
    attention_page_bf16<Vec, DotProducts>(rows, pages, scratch);
}

}  // namespace

void set_attention(KernelTable& table) {
    avx512::set_attention(table);
    table.attention_pages = attention_pages;
}

}  // namespace colugo::kernels::avx512_bf16
