// Byte-pair encoding of one piece of text: merges the neighbouring pair of lowest rank, leftmost first, until no
// neighbours can be merged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace colugo {

struct Merge {
    int32_t left;
    int32_t right;
    int32_t result;  // the token whose bytes are those of left and right
};

class BytePairEncoder {
 public:
    // Memory a caller keeps between calls, one per thread.
    struct Scratch {
        struct Symbol {
            int32_t token;
            uint32_t rank;   // of the merge with the next symbol
            int32_t result;  // of that merge
            uint32_t previous;
            uint32_t next;
        };
        struct Candidate {
            uint32_t rank;
            uint32_t position;
        };
        std::vector<Symbol> symbols;
        std::vector<Candidate> heap;
        uint64_t steps = 0;  // pairs looked up and candidates taken: the work done, for tests
    };

    BytePairEncoder() = default;
    // `byte_tokens` has the token of every byte, or -1: such a byte must not be encoded. A merge's rank is its index;
    // of two merges of one pair the later counts, as in the Hugging Face package.
    BytePairEncoder(const std::array<int32_t, 256>& byte_tokens, std::span<const Merge> merges);

    // Appends the tokens of `piece`. O(n log n) in its size.
    void encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& out) const;

 private:
    struct Slot {
        uint64_t pair;
        uint32_t rank;
        int32_t result;
    };

    const Slot* find(int32_t left, int32_t right) const;
    size_t home_slot(uint64_t pair) const;
    void rank_pair(Scratch& scratch, uint32_t position) const;
    void merge_at(Scratch& scratch, uint32_t position) const;
    void merge_by_scan(Scratch& scratch) const;
    void merge_by_heap(Scratch& scratch) const;

    std::array<int32_t, 256> byte_tokens_{};
    std::vector<Slot> slots_;  // open addressing, linear probing, at most half full
    int shift_ = 0;            // 64 - log2(slots_.size())
};

}  // namespace colugo
