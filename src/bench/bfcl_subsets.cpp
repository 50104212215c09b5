#include "bench/bfcl_subsets.h"

#include <algorithm>

namespace colugo {
namespace {

constexpr size_t kFewRows = 25;  // a share of these would be one or two rows, and their score noise

constexpr BfclSubset kSubsets[] = {
    {.name = "simple_python", .category = BfclCategory::non_live, .simple = true},
    {.name = "simple_java", .category = BfclCategory::non_live, .language = BfclLanguage::java, .simple = true},
    {.name = "simple_javascript",
     .category = BfclCategory::non_live,
     .language = BfclLanguage::javascript,
     .simple = true},
    {.name = "multiple", .category = BfclCategory::non_live},
    {.name = "parallel", .category = BfclCategory::non_live},
    {.name = "parallel_multiple", .category = BfclCategory::non_live},
    {.name = "live_simple", .category = BfclCategory::live},
    {.name = "live_multiple", .category = BfclCategory::live},
    {.name = "live_parallel", .category = BfclCategory::live},
    {.name = "live_parallel_multiple", .category = BfclCategory::live},
    {.name = "irrelevance", .category = BfclCategory::hallucination},
    {.name = "live_irrelevance", .category = BfclCategory::hallucination},
};

}  // namespace

size_t BfclSubset::rows_asked(size_t rows) const {
    if (rows <= kFewRows) return rows;
    const size_t percent = category == BfclCategory::non_live ? 62 : 10;
    return std::max<size_t>(1, rows * percent / 100);
}

std::span<const BfclSubset> bfcl_subsets() {
    return kSubsets;
}

std::string_view category_name(BfclCategory category) {
    switch (category) {
        case BfclCategory::non_live:
            return "non_live";
        case BfclCategory::live:
            return "live";
        case BfclCategory::hallucination:
            break;
    }
    return "hallucination";
}

}  // namespace colugo
