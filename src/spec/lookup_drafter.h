// Drafts without a model: what followed the last time the text ended as it does now. An agent's replies repeat much of
// what was said and shown before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace colugo {

class LookupDrafter {
 public:
    static constexpr int kShortest = 2;  // tokens that have to agree
    static constexpr int kLongest = 8;   // beyond which a longer agreement counts no more

    // capacity: tokens it will be given at most, all memory for which is taken now.
    explicit LookupDrafter(int64_t capacity);

    int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
    void append(int32_t token);
    void append(std::span<const int32_t> tokens) {
        for (const int32_t token : tokens) append(token);
    }
    // The next token belongs to another text: what stands before is looked up, and nothing reaches across.
    void begin_text();

    struct Draft {
        std::span<const int32_t> tokens;  // valid until the next append
        int agreed = 0;                   // tokens that the place they stand in has in common with the end; 0: none
    };
    // What stands behind the latest of the places that agree with the end in the most tokens; at most `most` of it.
    Draft draft(int64_t most) const;

 private:
    size_t slot(int32_t first, int32_t second) const;
    int agreement(int64_t end) const;

    std::vector<int32_t> tokens_;
    int64_t text_begin_ = 0;
    // The places where a pair of tokens ended: the latest of each hash, and of each place the one before it, by the
    // index behind the pair; 0: none.
    std::vector<int32_t> latest_;  // a power of two
    std::vector<int32_t> earlier_;
};

}  // namespace colugo
