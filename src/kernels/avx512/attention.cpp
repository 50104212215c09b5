#include "kernels/generic/attention.h"

#include "kernels/avx512/attention.h"
#include "kernels/avx512/vec.h"
#include "kernels/generic/attention_vnni.h"
#include "kernels/generic/store_kv.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx512 {

void attention_pages(const AttentionRows& rows, const AttentionPages& pages, std::byte* scratch) {
    kernels::attention_pages<Vec, VnniAttention<Vec>>(rows, pages, scratch);
}

void set_attention(KernelTable& table) {
    table.store_kv = kernels::store_kv<Vec>;
    table.attention_query_format = kernels::attention_query_format<Vec>;
    table.attention_pages = attention_pages;
    table.attention_merge = kernels::attention_merge<Vec>;
}

}  // namespace colugo::kernels::avx512
