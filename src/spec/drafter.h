// Drafts for the sequences of a step: from the multi-token-prediction head, along a tree, and from the text itself.
#pragma once

#include <span>
#include <vector>

#include "base/function_ref.h"
#include "model/qwen35.h"
#include "spec/draft_tree.h"
#include "spec/lookup_drafter.h"
#include "spec/spec_params.h"

namespace colugo {

class Drafter {
 public:
    // One sequence to draft for.
    struct Target {
        SequenceState* sequence = nullptr;
        int32_t root = 0;                       // its next token
        const LookupDrafter* lookup = nullptr;  // has all its tokens, `root` the last
        SpecParams params;
        int most_depth = 0;         // positions behind `root` that it may still have
        DraftTree* tree = nullptr;  // filled
    };
    // Makes the logits [vocab_size] that the MTP head has for the token at a position of targets[target] what the draw
    // looks at: -infinity for tokens that cannot be drawn, divided by the temperature, with the draw's own noise.
    using Adjust = FunctionRef<void(size_t target, int64_t position, std::span<float> logits)>;

    // limits: what a target asks for at most, of at most `max_targets` at a time. Borrows the model.
    Drafter(Qwen35& model, const SpecParams& limits, int max_targets);

    void draft(std::span<Target> targets, Adjust adjust);

 private:
    // A target while the MTP head drafts for it: the head's rows so far, of which the first is the root's.
    struct Growing {
        Target* target = nullptr;
        size_t index = 0;                 // among the targets
        std::vector<int32_t> tokens;      // of the rows
        std::vector<int32_t> parents;     // of the rows, among them
        std::vector<int32_t> nodes;       // that they belong to; -1: the root
        std::vector<const float*> given;  // of the rows to come, what their parents gave
        size_t first_new = 0;
    };

    void draft_by_head(std::span<Target> targets, Adjust adjust);
    bool choose_rows(Growing& growing, int depth);
    void add_children(const Growing& growing, int32_t node, std::span<float> logits, Adjust adjust) const;
    void add_lookup(Target& target) const;
    float* hidden_of(const Growing& growing, size_t row) const;

    Qwen35& model_;
    SpecParams limits_;
    size_t hidden_size_, vocab_size_;
    size_t width_;                   // rows of one target and level at most
    Buffer hidden_;                  // [max_targets, most rows of a target, hidden_size]: what every row gave
    Buffer level_hidden_;            // [max_targets * width_, hidden_size]: of a level
    Buffer logits_;                  // [max_targets * width_, vocab_size]
    std::vector<Growing> all_;       // [max_targets], whose memory is kept
    std::vector<Growing*> growing_;  // those at work
    std::vector<MtpTree> trees_;
};

}  // namespace colugo
