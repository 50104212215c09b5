// A set of tokens, as far as the MTP head tells them apart: in groups of kernels::kPanel ids, as the head's rows lie.
// Drafts are chosen from the set alone, since a product with the whole of a large vocabulary costs more than the rest
// of the head; what it leaves out can only be a draft that is not made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace colugo {

class TokenGroups {
 public:
    // No more ids than these are in a set to begin with. A byte-pair vocabulary numbers its tokens in the order they
    // were merged in, which is that of how frequent they are: of agents' replies these and what a conversation has seen
    // are 99 % (docs/engine.md).
    static constexpr int64_t kFrequent = 16384;

    explicit TokenGroups(int64_t vocab_size);

    void add(int32_t token);
    void add(std::span<const int32_t> tokens) {
        for (const int32_t token : tokens) add(token);
    }
    void add_frequent();
    // other: of the same vocabulary
    void add(const TokenGroups& other);

    // Ascending, into `groups`.
    void list(std::vector<int32_t>& groups) const;

 private:
    int64_t vocab_size_;
    std::vector<uint64_t> bits_;  // of every group
};

}  // namespace colugo
