#include "bench/ideal_cache.h"

#include <algorithm>

namespace colugo {

namespace {

int64_t common_length(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
    return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

int64_t IdealCache::add(std::vector<int32_t> prompt) {
    if (prompt.empty()) return 0;
    // In the order of tokens, none shares more with a prompt than one of its two neighbours.
    const auto next = prompts_.lower_bound(prompt);
    int64_t common = 0;
    if (next != prompts_.end()) common = common_length(prompt, *next);
    if (next != prompts_.begin()) common = std::max(common, common_length(prompt, *std::prev(next)));
    common = std::min(common, static_cast<int64_t>(prompt.size()) - 1);
    prompts_.insert(std::move(prompt));
    return common;
}

}  // namespace colugo
