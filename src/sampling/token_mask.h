// A set of token ids, one bit each: the ids that have a token at all, or those a grammar allows next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace colugo {

class TokenMask {
 public:
    // Ids 0 .. size - 1, all in the set or none.
    TokenMask(int64_t size, bool all);

    int64_t size() const { return size_; }
    bool contains(int64_t id) const { return ((words_[static_cast<size_t>(id >> 6)] >> (id & 63)) & 1u) != 0; }
    void set(int64_t id, bool in);
    void clear();
    int64_t count() const;
    // Bit i of word w: id 64 w + i. Bits past size() are clear.
    std::span<const uint64_t> words() const { return words_; }

 private:
    int64_t size_;
    std::vector<uint64_t> words_;
};

}  // namespace colugo
