// The draw law: the next token is the argmax, over the tokens left by the steps below, of logit / T + Gumbel noise,
// which is a draw from their softmax. Ties go to the lowest id. In order:
//   1. mask         ids without a token, and those `allowed` leaves out, are gone
//   2. logit bias   added
//   3. penalties    repetition: logit / r where positive, logit x r where negative, for every token of prompt or
//   output;
//                   then minus presence (where the output has the token) and minus frequency x its count in the output
//   4. temperature  logit / T; 0 ends here with the largest logit, without noise and without the steps below
//   5. top-k        the k largest stay, the lowest ids among equals
//   6. min-p        those with a probability below min_p x the largest's are gone
//   7. top-p        of what is left, renormalised, the smallest set of most likely tokens whose sum reaches top_p
// The same logits, params, history, mask and position give the same token on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/gumbel_noise.h"
#include "sampling/sampling_params.h"
#include "sampling/token_history.h"
#include "sampling/token_mask.h"

namespace colugo {

class Sampler {
 public:
    // tokens: the ids that have a token; its size is the vocabulary's. One sampler serves any number of sequences, one
    // draw at a time; it holds scratch memory only, taken here.
    explicit Sampler(TokenMask tokens);

    const TokenMask& tokens() const { return tokens_; }

    // logits [vocab_size], raw; position: that of the drawn token; allowed: nullptr or a mask of the vocabulary's size.
    // Throws invalid_file when a logit is not finite, invalid_argument when no token is left.
    int32_t draw(std::span<const float> logits, int64_t position, const SamplingParams& params,
                 const TokenHistory& history, const TokenMask* allowed = nullptr);

 private:
    struct Candidate {
        float logit;
        int32_t token;
        // The order of all filters: larger logit first, then lower id.
        bool before(const Candidate& other) const {
            return logit != other.logit ? logit > other.logit : token < other.token;
        }
    };

    void load(std::span<const float> logits, const TokenMask* allowed);
    void adjust(const SamplingParams& params, const TokenHistory& history);
    Candidate best() const;
    void keep_top_k(int32_t k);
    void keep_min_p(double min_p, double temperature, float largest);
    void keep_top_p(double top_p, double temperature, float largest);
    int32_t race_all(const GumbelNoise& noise, double temperature, Candidate first) const;
    int32_t race_candidates(const GumbelNoise& noise, double temperature) const;

    TokenMask tokens_;
    std::vector<float> logits_;          // [vocab_size] adjusted; -infinity: gone
    std::vector<Candidate> candidates_;  // capacity vocab_size; what the filters leave
};

}  // namespace colugo
