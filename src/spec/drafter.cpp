#include "spec/drafter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace colugo {

namespace {

// Under mode automatic, after so many steps without drafts by the head it is tried again: the text may have become one
// that it knows. While it has not, the trials get rarer, and cost less than half a percent.
constexpr int kLeastSteps = 32, kMostSteps = 512;

bool is_automatic(const SpecParams& params) {
    return params.mode == SpecMode::automatic;
}

size_t width_of(const SpecParams& params) {
    return params.mode == SpecMode::mtp ? 1 : static_cast<size_t>(params.top_k);
}

int64_t columns_of(int64_t vocab_size) {
    return (vocab_size + kernels::kPanel - 1) / kernels::kPanel * kernels::kPanel;
}

}  // namespace

Drafter::Drafter(Qwen35& model, const SpecParams& limits, int max_targets, std::optional<PassCost> cost)
    : model_(model),
      limits_(limits),
      hidden_size_(static_cast<size_t>(model.config().hidden_size)),
      vocab_size_(static_cast<size_t>(model.config().vocab_size)),
      width_(static_cast<size_t>(limits.top_k)),
      cost_(std::move(cost)),
      frequent_(model.config().vocab_size),
      wanted_(model.config().vocab_size),
      all_(static_cast<size_t>(max_targets)),
      steps_to_trial_(kLeastSteps) {
    COLUGO_CHECK(cost_ || !is_automatic(limits));
    frequent_.add_frequent();
    if (!limits.uses_head() || !model.has_mtp()) return;
    const auto targets = static_cast<size_t>(max_targets), rows = static_cast<size_t>(limits.draft_rows());
    hidden_ = Buffer(targets * rows * hidden_size_ * sizeof(float));
    level_hidden_ = Buffer(targets * width_ * hidden_size_ * sizeof(float));
    logits_ = Buffer(targets * width_ * static_cast<size_t>(columns_of(model.config().vocab_size)) * sizeof(float));
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

HeadWork Drafter::draft(std::span<Target> targets, int64_t rows, Adjust adjust) {
    rows_ = rows;
    spent_ = 0.0;
    explores_ = ++steps_since_trial_ >= steps_to_trial_;
    if (explores_) steps_to_trial_ = std::min(steps_to_trial_ * 2, kMostSteps);
    for (Target& target : targets) {
        target.tree->clear();
        if (!target.params.uses_lookup()) continue;
        add_lookup(target);
        acceptance_.estimate(*target.tree);
    }
    const HeadWork work = draft_by_head(targets, adjust);
    cut(targets);
    return work;
}

void Drafter::record(const DraftTree& tree, std::span<const int32_t> path, bool drawn) {
    acceptance_.record(tree, path, drawn);
    const bool head_was_right =
        std::any_of(path.begin(), path.end(), [&](int32_t index) { return tree.node(index).evidence.head > 0.0f; });
    if (head_was_right) steps_to_trial_ = kLeastSteps;
}

HeadWork Drafter::draft_by_head(std::span<Target> targets, Adjust adjust) {
    HeadWork work;
    begin_growing(targets);
    for (int depth = 1;; ++depth) {
        drop_what_does_not_pay(targets, depth);
        if (growing_.empty()) return work;
        if (depth == 1) choose_groups();
        ++work.levels;
        work.rows += draft_level(adjust);
        std::erase_if(growing_, [&](Growing* one) { return !choose_rows(*one, depth); });
    }
}

void Drafter::begin_growing(std::span<Target> targets) {
    growing_.clear();
    if (!model_.has_mtp()) return;
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
}

// The frequent tokens, and what the texts at work have.
void Drafter::choose_groups() {
    wanted_ = frequent_;
    for (const Growing* one : growing_) wanted_.add(*one->target->seen);
    wanted_.list(groups_);
}

// The head's next rows of all that grow, and the children they draft. Returns how many rows.
int64_t Drafter::draft_level(Adjust adjust) {
    trees_.clear();
    size_t rows = 0;
    for (const Growing* one : growing_) {
        trees_.push_back({one->target->sequence, one->tokens, one->parents, one->first_new, one->given});
        rows += one->given.size();
    }
    const auto count = static_cast<int64_t>(rows);
    const size_t columns = groups_.size() * kernels::kPanel;
    const TensorView hidden(level_hidden_.as<float>(), count, static_cast<int64_t>(hidden_size_));
    const TensorView logits(logits_.as<float>(), count, static_cast<int64_t>(columns));
    const auto begin = std::chrono::steady_clock::now();
    model_.mtp_draft(trees_, hidden, logits, groups_);
    if (cost_) {
        spent_ += cost_->draft(static_cast<double>(rows));
        cost_->record_draft(count, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        steps_since_trial_ = 0;
    }
    int64_t row = 0;
    for (const Growing* one : growing_) {
        for (size_t own = one->first_new; own < one->tokens.size(); ++own, ++row) {
            std::copy_n(hidden.f32(row), hidden_size_, hidden_of(*one, own));
            add_children(*one, one->nodes[own], {logits.f32(row), columns}, adjust);
        }
        acceptance_.estimate(*one->target->tree);
    }
    return count;
}

// The most probable tokens become children of the node.
void Drafter::add_children(const Growing& growing, int32_t node, std::span<float> logits, Adjust adjust) {
    constexpr float kNone = -std::numeric_limits<float>::infinity();
    const Target& target = *growing.target;
    const int depth = node >= 0 ? target.tree->node(node).depth + 1 : 1;
    const DraftLogits candidates{logits, groups_};
    // The last group may have columns beyond the vocabulary.
    while (candidates.token(logits.size() - 1) >= static_cast<int32_t>(vocab_size_)) {
        logits = logits.first(logits.size() - 1);
    }
    adjust(growing.index, target.sequence->length + depth, {logits, groups_});
    const float largest = *std::max_element(logits.begin(), logits.end());
    double total = 0.0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit - largest));
    for (size_t child = 0; child < width_of(target.params); ++child) {
        const auto best = std::max_element(logits.begin(), logits.end());
        if (std::isinf(*best)) return;  // no token is left
        const auto share = static_cast<float>(std::exp(static_cast<double>(*best - largest)) / total);
        const auto token = candidates.token(static_cast<size_t>(best - logits.begin()));
        const int32_t added = target.tree->add(node, token, {.head = share});
        if (child == 0) acceptance_.record_head(depth, acceptance_.share(target.tree->node(added).evidence, depth));
        *best = kNone;
    }
}

// The nodes of this depth that the head goes on from: the most probable ones of those whose parents it has been at.
// False: none, the tree is done.
bool Drafter::choose_rows(Growing& growing, int depth) {
    const Target& target = *growing.target;
    if (depth >= std::min(target.params.depth, target.most_depth)) return false;
    const std::span<const DraftNode> nodes = target.tree->nodes();
    const size_t known = growing.nodes.size();
    const auto row_of = [&](int32_t node) {
        const auto end = growing.nodes.begin() + static_cast<std::ptrdiff_t>(known);
        return std::find(growing.nodes.begin(), end, node) - growing.nodes.begin();
    };
    growing.first_new = known;
    growing.given.clear();
    for (size_t chosen = 0; chosen < width_of(target.params); ++chosen) {
        int32_t best = -1;
        for (size_t i = 0; i < nodes.size(); ++i) {
            const auto index = static_cast<int32_t>(i);
            if (nodes[i].depth != depth || (best >= 0 && nodes[i].probability <= target.tree->node(best).probability)) {
                continue;
            }
            const auto taken = growing.nodes.begin() + static_cast<std::ptrdiff_t>(known);
            const bool is_taken = std::find(taken, growing.nodes.end(), index) != growing.nodes.end();
            if (!is_taken && row_of(nodes[i].parent) < static_cast<std::ptrdiff_t>(known)) best = index;
        }
        if (best < 0) break;
        const DraftNode& node = target.tree->node(best);
        const auto parent = row_of(node.parent);
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
    for (const int32_t token : draft.tokens) parent = target.tree->add(parent, token, {.agreed = draft.agreed});
}

// Under mode automatic, the head drafts another level where the tokens that are expected of it come at more of a second
// than those of the step as it is so far.
void Drafter::drop_what_does_not_pay(std::span<Target> targets, int depth) {
    double gain = 0.0, rows = 0.0;
    for (const Growing* one : growing_) {
        const DraftTree& tree = *one->target->tree;
        if (!is_automatic(one->target->params)) continue;
        for (size_t row = one->first_new; row < one->nodes.size(); ++row) {
            const int32_t parent = one->nodes[row];
            // The head is of use where what a lookup has there is wrong.
            float missed = parent >= 0 ? tree.node(parent).probability : 1.0f;
            for (const DraftNode& node : tree.nodes()) {
                if (node.parent == parent) missed -= node.probability;
            }
            gain += static_cast<double>(std::max(missed, 0.0f) * acceptance_.head_share(depth));
            rows += 1.0;
        }
    }
    if (rows == 0.0 || (explores_ && depth == 1)) return;
    size_t count = 0;
    const double rate = best_rate(targets, &count);
    const double verified = static_cast<double>(rows_) + static_cast<double>(count);
    const double seconds = cost_->draft(rows) + cost_->pass(verified + rows) - cost_->pass(verified);
    if (gain > rate * seconds) return;
    std::erase_if(growing_, [](const Growing* one) { return is_automatic(one->target->params); });
}

// The most tokens a second that verifying the best nodes is expected to give, and how many these are.
double Drafter::best_rate(std::span<Target> targets, size_t* count) {
    ranked_.clear();
    for (const Target& target : targets) {
        for (const DraftNode& node : target.tree->nodes()) ranked_.emplace_back(node.probability, target.tree);
    }
    std::sort(ranked_.begin(), ranked_.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    const size_t most = std::min(ranked_.size(), targets.size() * static_cast<size_t>(limits_.nodes - 1));
    auto tokens = static_cast<double>(targets.size());
    double best = 0.0;
    for (size_t nodes = 0; nodes <= most; ++nodes) {
        if (nodes > 0) tokens += static_cast<double>(ranked_[nodes - 1].first);
        const double rate = tokens / (cost_->pass(static_cast<double>(rows_) + static_cast<double>(nodes)) + spent_);
        if (rate <= best) continue;
        best = rate;
        *count = nodes;
    }
    return best;
}

// Leaves what is verified: the most probable nodes, and under mode automatic those of them that pay.
void Drafter::cut(std::span<Target> targets) {
    bool any_automatic = false;
    for (Target& target : targets) {
        target.tree->keep_best(target.params.nodes - 1, target.sequence->length);
        any_automatic |= is_automatic(target.params);
    }
    if (!any_automatic) return;
    size_t count = 0;
    best_rate(targets, &count);
    if (explores_ && count == 0) count = std::min<size_t>(1, ranked_.size());
    for (Target& target : targets) {
        if (!is_automatic(target.params)) continue;
        const auto best = std::span(ranked_).first(count);
        const auto own =
            std::count_if(best.begin(), best.end(), [&](const auto& one) { return one.second == target.tree; });
        target.tree->keep_best(static_cast<int>(own), target.sequence->length);
    }
}

}  // namespace colugo
