// Drafts for the sequences of a step: from the multi-token-prediction head, along a tree, and from the text itself.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "model/qwen35.h"
#include "spec/acceptance.h"
#include "spec/draft_tree.h"
#include "spec/lookup_drafter.h"
#include "spec/pass_cost.h"
#include "spec/spec_params.h"
#include "spec/token_groups.h"

namespace colugo {

// The logits of some groups of the vocabulary.
struct DraftLogits {
    std::span<float> values;
    std::span<const int32_t> groups;

    int32_t token(size_t index) const {
        return groups[index / kernels::kPanel] * kernels::kPanel + static_cast<int32_t>(index % kernels::kPanel);
    }
};

// What the MTP head computed.
struct HeadWork {
    int64_t levels = 0;  // passes
    int64_t rows = 0;    // in these
};

class Drafter {
 public:
    // One sequence to draft for.
    struct Target {
        SequenceState* sequence = nullptr;
        int32_t root = 0;                       // its next token
        const LookupDrafter* lookup = nullptr;  // has all its tokens, `root` the last
        const TokenGroups* seen = nullptr;      // of its tokens
        SpecParams params;
        int most_depth = 0;         // positions behind `root` that it may still have
        DraftTree* tree = nullptr;  // filled
    };
    // Makes the logits that the MTP head has for the token at a position of targets[target] what the draw looks at:
    // -infinity for tokens that cannot be drawn, divided by the temperature, with the draw's own noise.
    using Adjust = FunctionRef<void(size_t target, int64_t position, DraftLogits logits)>;

    // limits: what a target asks for at most, of at most `max_targets` at a time. cost: for mode automatic. Borrows the
    // model.
    Drafter(Qwen35& model, const SpecParams& limits, int max_targets, std::optional<PassCost> cost);

    // rows: of the coming pass, without drafts.
    HeadWork draft(std::span<Target> targets, int64_t rows, Adjust adjust);
    // What came of a tree of draft(), as Acceptance::record has it.
    void record(const DraftTree& tree, std::span<const int32_t> path, bool drawn);
    // A pass took so long.
    void record_pass(int64_t rows, double seconds) {
        if (cost_) cost_->record_pass(rows, seconds);
    }

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

    HeadWork draft_by_head(std::span<Target> targets, Adjust adjust);
    void begin_growing(std::span<Target> targets);
    void choose_groups();
    int64_t draft_level(Adjust adjust);
    bool choose_rows(Growing& growing, int depth);
    void drop_what_does_not_pay(std::span<Target> targets, int depth);
    void add_children(const Growing& growing, int32_t node, std::span<float> logits, Adjust adjust);
    void add_lookup(Target& target) const;
    void cut(std::span<Target> targets);
    double best_rate(std::span<Target> targets, size_t* count);
    float* hidden_of(const Growing& growing, size_t row) const;

    Qwen35& model_;
    SpecParams limits_;
    size_t hidden_size_, vocab_size_;
    size_t width_;  // rows of one target and level at most
    Acceptance acceptance_;
    std::optional<PassCost> cost_;
    TokenGroups frequent_, wanted_;
    std::vector<int32_t> groups_;    // of the vocabulary, that the head drafts from
    Buffer hidden_;                  // [max_targets, most rows of a target, hidden_size]: what every row gave
    Buffer level_hidden_;            // [max_targets * width_, hidden_size]: of a level
    Buffer logits_;                  // [max_targets * width_, all groups]
    std::vector<Growing> all_;       // [max_targets], whose memory is kept
    std::vector<Growing*> growing_;  // those at work
    std::vector<MtpTree> trees_;
    std::vector<std::pair<float, DraftTree*>> ranked_;  // nodes' probabilities
    // Of the step.
    int64_t rows_ = 0;
    double spent_ = 0.0;     // seconds of drafting, as cost_ has it
    bool explores_ = false;  // what did not pay lately is tried once more
    // Of the head.
    int steps_since_trial_ = 0;
    int steps_to_trial_;
};

}  // namespace colugo
