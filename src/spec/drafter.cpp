#include "spec/drafter.h"

#include <algorithm>
#include <cmath>

namespace colugo {

namespace {

// Of a lookup's tokens each, by how much agreed before them.
float lookup_share(int agreed) {
    return 0.5f + 0.05f * static_cast<float>(agreed);
}

}  // namespace

Drafter::Drafter(Qwen35& model, const SpecParams& limits, int max_targets)
    : model_(model),
      limits_(limits),
      hidden_size_(static_cast<size_t>(model.config().hidden_size)),
      vocab_size_(static_cast<size_t>(model.config().vocab_size)),
      width_(static_cast<size_t>(limits.top_k)),
      all_(static_cast<size_t>(max_targets)) {
    if (!limits.uses_head()) return;
    const auto targets = static_cast<size_t>(max_targets), rows = static_cast<size_t>(limits.draft_rows());
    hidden_ = Buffer(targets * rows * hidden_size_ * sizeof(float));
    level_hidden_ = Buffer(targets * width_ * hidden_size_ * sizeof(float));
    logits_ = Buffer(targets * width_ * vocab_size_ * sizeof(float));
    for (Growing& growing : all_) {
        for (std::vector<int32_t>* list : {&growing.tokens, &growing.parents, &growing.nodes}) list->reserve(rows);
        growing.given.reserve(width_);
    }
}

float* Drafter::hidden_of(const Growing& growing, size_t row) const {
    const auto rows = static_cast<size_t>(limits_.draft_rows());
    const auto slot = static_cast<size_t>(&growing - all_.data());
    return hidden_.as<float>() + (slot * rows + row) * hidden_size_;
}

void Drafter::draft(std::span<Target> targets, Adjust adjust) {
    for (Target& target : targets) target.tree->clear();
    draft_by_head(targets, adjust);
    for (Target& target : targets) {
        if (target.params.uses_lookup()) add_lookup(target);
        target.tree->keep_best(target.params.nodes - 1, target.sequence->length);
    }
}

void Drafter::draft_by_head(std::span<Target> targets, Adjust adjust) {
    growing_.clear();
    for (size_t i = 0; i < targets.size(); ++i) {
        Target& target = targets[i];
        if (!target.params.uses_head() || target.most_depth < 1) continue;
        Growing& growing = all_[growing_.size()];
        growing.target = &target;
        growing.index = i;
        growing.tokens.assign(1, target.root);
        growing.parents.assign(1, -1);
        growing.nodes.assign(1, -1);
        growing.given.assign(1, model_.recurrent_layout().pending_hidden(target.sequence->tail));
        growing.first_new = 0;
        growing_.push_back(&growing);
    }
    for (int depth = 1; !growing_.empty(); ++depth) {
        trees_.clear();
        size_t rows = 0;
        for (const Growing* one : growing_) {
            trees_.push_back({one->target->sequence, one->tokens, one->parents, one->first_new, one->given});
            rows += one->given.size();
        }
        const auto count = static_cast<int64_t>(rows);
        const TensorView hidden(level_hidden_.as<float>(), count, static_cast<int64_t>(hidden_size_));
        const TensorView logits(logits_.as<float>(), count, static_cast<int64_t>(vocab_size_));
        model_.mtp_draft(trees_, hidden, logits);
        int64_t row = 0;
        for (const Growing* one : growing_) {
            for (size_t own = one->first_new; own < one->tokens.size(); ++own, ++row) {
                std::copy_n(hidden.f32(row), hidden_size_, hidden_of(*one, own));
                add_children(*one, one->nodes[own], {logits.f32(row), vocab_size_}, adjust);
            }
        }
        std::erase_if(growing_, [&](Growing* one) { return !choose_rows(*one, depth); });
    }
}

// The most probable tokens become children of the node.
void Drafter::add_children(const Growing& growing, int32_t node, std::span<float> logits, Adjust adjust) const {
    const Target& target = *growing.target;
    const int depth = node >= 0 ? target.tree->node(node).depth + 1 : 1;
    adjust(growing.index, target.sequence->length + depth, logits);
    const float largest = *std::max_element(logits.begin(), logits.end());
    double total = 0.0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit - largest));
    const int children = target.params.mode == SpecMode::mtp ? 1 : target.params.top_k;
    for (int child = 0; child < children; ++child) {
        const auto best = std::max_element(logits.begin(), logits.end());
        if (std::isinf(*best)) return;  // no token is left
        const auto share = static_cast<float>(std::exp(static_cast<double>(*best - largest)) / total);
        target.tree->add(node, static_cast<int32_t>(best - logits.begin()), share, DraftSource::mtp);
        *best = -std::numeric_limits<float>::infinity();
    }
}

// The nodes of this depth that the head goes on from: the most probable ones. False: none, the tree is done.
bool Drafter::choose_rows(Growing& growing, int depth) {
    const Target& target = *growing.target;
    if (depth >= std::min(target.params.depth, target.most_depth)) return false;
    const std::span<const DraftNode> nodes = target.tree->nodes();
    growing.first_new = growing.tokens.size();
    growing.given.clear();
    const size_t width = target.params.mode == SpecMode::mtp ? 1 : static_cast<size_t>(target.params.top_k);
    for (size_t chosen = 0; chosen < width; ++chosen) {
        int32_t best = -1;
        for (size_t i = 0; i < nodes.size(); ++i) {
            const auto index = static_cast<int32_t>(i);
            if (nodes[i].depth != depth || (best >= 0 && nodes[i].probability <= target.tree->node(best).probability)) {
                continue;
            }
            const auto taken = growing.nodes.begin() + static_cast<std::ptrdiff_t>(growing.first_new);
            if (std::find(taken, growing.nodes.end(), index) == growing.nodes.end()) best = index;
        }
        if (best < 0) break;
        const DraftNode& node = target.tree->node(best);
        const auto parent = std::find(growing.nodes.begin(), growing.nodes.end(), node.parent) - growing.nodes.begin();
        growing.tokens.push_back(node.token);
        growing.parents.push_back(static_cast<int32_t>(parent));
        growing.nodes.push_back(best);
        growing.given.push_back(hidden_of(growing, static_cast<size_t>(parent)));
    }
    return !growing.given.empty();
}

void Drafter::add_lookup(Target& target) const {
    const LookupDrafter::Draft draft = target.lookup->draft(std::min(target.params.nodes - 1, target.most_depth));
    int32_t parent = -1;
    for (const int32_t token : draft.tokens) {
        parent = target.tree->add(parent, token, lookup_share(draft.agreed), DraftSource::lookup);
    }
}

}  // namespace colugo
