// How much of each prompt a cache of prompts could have kept: what an earlier prompt begins with too, token by token.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace colugo {

class IdealCache {
 public:
    // Tokens at the beginning of this prompt that an earlier one begins with too; at most all but the last, which a
    // server has to feed to say anything. Then the prompt is an earlier one.
    int64_t add(std::vector<int32_t> prompt);

 private:
    std::set<std::vector<int32_t>> prompts_;
};

}  // namespace colugo
