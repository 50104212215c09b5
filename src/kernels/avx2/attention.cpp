#include "kernels/generic/attention.h"
#include "kernels/generic/attention_int8.h"
#include "kernels/generic/store_kv.h"
#include "kernels/generic/vec_avx2.h"
#include "kernels/tier_parts.h"

namespace colugo::kernels::avx2 {

void set_attention(KernelTable& table) {
    table.store_kv = kernels::store_kv<Vec>;
    table.attention_query_format = kernels::attention_query_format<Vec>;
    table.attention_pages = kernels::attention_pages<Vec, Int8Attention<Vec>>;
    table.attention_merge = kernels::attention_merge<Vec>;
}

}  // namespace colugo::kernels::avx2
