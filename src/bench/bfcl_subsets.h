// The parts of BFCL v4 (Berkeley Function Calling Leaderboard, single turn) that the accuracy phase asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace colugo {

// What the functions of a subset are written in, which decides how values are compared.
enum class BfclLanguage : uint8_t { python, java, javascript };
enum class BfclCategory : uint8_t { non_live, live, hallucination };

inline constexpr BfclCategory kBfclCategories[] = {BfclCategory::non_live, BfclCategory::live,
                                                   BfclCategory::hallucination};

struct BfclSubset {
    std::string_view name;  // of the file BFCL_v4_<name>.json
    BfclCategory category;
    size_t rows;  // in the package bfcl-eval 2026.3.23
    BfclLanguage language = BfclLanguage::python;
    bool simple = false;  // one function, one call: these share one place in the mean of their category

    // Else no function fits the question, and the right reply calls none.
    bool wants_calls() const { return category != BfclCategory::hallucination; }
    // How many of the subset's rows are asked, its first ones: a share of the category, at least one, and all where
    // they are few.
    size_t rows_asked(size_t rows_there) const;
};

// In the order in which they are asked.
std::span<const BfclSubset> bfcl_subsets();

std::string_view category_name(BfclCategory category);

}  // namespace colugo
