// How often each token occurs in a sequence, for penalties. A function of the token path alone: a draft's tokens are
// added on the way down and removed on the way back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace colugo {

class TokenHistory {
 public:
    explicit TokenHistory(int64_t vocab_size);

    void add_prompt(std::span<const int32_t> tokens);
    void add_output(int32_t token);
    // Undoes the last add_output of this token.
    void remove_output(int32_t token);

    int64_t vocab_size() const { return static_cast<int64_t>(counts_.size()); }
    // Every token that was ever added, in order of first use; one that was removed again has zero counts.
    std::span<const int32_t> tokens() const { return tokens_; }
    int32_t prompt_count(int32_t token) const { return counts_[static_cast<size_t>(token)].prompt; }
    int32_t output_count(int32_t token) const { return counts_[static_cast<size_t>(token)].output; }

 private:
    struct Count {
        int32_t prompt = 0;
        int32_t output = 0;
        bool listed = false;
    };
    Count& count(int32_t token);

    std::vector<Count> counts_;    // [vocab_size]
    std::vector<int32_t> tokens_;  // capacity vocab_size
};

}  // namespace colugo
