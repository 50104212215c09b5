#include "bench/bfcl_subsets.h"

#include <algorithm>

namespace colugo {
namespace {

constexpr size_t kFewRows = 25;  // a share of these would be one or two rows, and their score noise

constexpr BfclSubset kSubsets[] = {
    {.name = "simple_python", .category = BfclCategory::non_live, .rows = 400, .simple = true},
    {.name = "simple_java",
     .category = BfclCategory::non_live,
     .rows = 100,
     .language = BfclLanguage::java,
     .simple = true},
    {.name = "simple_javascript",
     .category = BfclCategory::non_live,
     .rows = 50,
     .language = BfclLanguage::javascript,
     .simple = true},
    {.name = "multiple", .category = BfclCategory::non_live, .rows = 200},
    {.name = "parallel", .category = BfclCategory::non_live, .rows = 200},
    {.name = "parallel_multiple", .category = BfclCategory::non_live, .rows = 200},
    {.name = "live_simple", .category = BfclCategory::live, .rows = 258},
    {.name = "live_multiple", .category = BfclCategory::live, .rows = 1053},
    {.name = "live_parallel", .category = BfclCategory::live, .rows = 16},
    {.name = "live_parallel_multiple", .category = BfclCategory::live, .rows = 24},
    {.name = "irrelevance", .category = BfclCategory::hallucination, .rows = 240},
    {.name = "live_irrelevance", .category = BfclCategory::hallucination, .rows = 884},
};

}  // namespace

size_t BfclSubset::rows_asked(size_t rows_there) const {
    if (rows_there <= kFewRows) return rows_there;
    const size_t percent = category == BfclCategory::non_live ? 62 : 10;
    return std::max<size_t>(1, rows_there * percent / 100);
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
