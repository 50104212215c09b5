#include "sampling/token_grammar.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace colugo {
namespace {

constexpr size_t kReservedReadings = 8;  // of a text, at once

}  // namespace

TokenGrammar::TokenGrammar(std::shared_ptr<const ByteGrammar> grammar,
                           std::shared_ptr<const GrammarVocabulary> vocabulary, std::span<const int32_t> end_ids,
                           std::shared_ptr<MaskCache> masks)
    : grammar_(std::move(grammar)),
      vocabulary_(std::move(vocabulary)),
      end_ids_(end_ids.begin(), end_ids.end()),
      states_(*grammar_),
      masks_(masks ? std::move(masks) : std::make_shared<MaskCache>(vocabulary_->size())),
      owner_(masks_->new_owner()),
      levels_(static_cast<size_t>(vocabulary_->tree().max_depth) + 1) {
    for (const int32_t id : end_ids_) COLUGO_CHECK(id >= 0 && id < vocabulary_->size());
    for (std::vector<GrammarItem>& level : levels_) level.reserve(kReservedReadings);
}

bool TokenGrammar::is_end(int32_t token) const {
    return std::find(end_ids_.begin(), end_ids_.end(), token) != end_ids_.end();
}

bool TokenGrammar::may_end(GrammarState state) const {
    const std::span<const GrammarItem> items = states_.items(state.id);
    return !items.empty() && items[0].node == ByteGrammar::kEnd;
}

std::optional<GrammarState> TokenGrammar::after(GrammarState state, int32_t token) {
    if (token < 0 || token >= vocabulary_->size() || !vocabulary_->all().contains(token)) return std::nullopt;
    if (is_end(token)) return may_end(state) ? std::optional(state) : std::nullopt;
    std::span<const GrammarItem> items = states_.items(state.id);
    std::vector<GrammarItem>&here = levels_[0], &next = levels_[1];
    if (vocabulary_->is_control(token)) {
        states_.step_token(items, token, here);
        items = here;
    } else {
        for (const char byte : vocabulary_->bytes(token)) {
            states_.step(items, static_cast<uint8_t>(byte), next);
            std::swap(here, next);
            items = here;
            if (items.empty()) break;
        }
    }
    if (items.empty()) return std::nullopt;
    return GrammarState{states_.intern(items)};
}

std::optional<int32_t> TokenGrammar::only_choice(GrammarState state) {
    const MaskCache::Entry& found = entry(state);
    if (found.count != 1) return std::nullopt;
    const std::span<const uint64_t> words = found.mask.words();
    const auto word = std::find_if(words.begin(), words.end(), [](uint64_t bits) { return bits != 0; });
    return static_cast<int32_t>(64 * (word - words.begin()) + std::countr_zero(*word));
}

const MaskCache::Entry& TokenGrammar::entry(GrammarState state) {
    if (const MaskCache::Entry* found = masks_->find(owner_, state.id)) return *found;
    MaskCache::Entry& made = masks_->add(owner_, state.id);
    make_mask(state, made.mask);
    made.count = made.mask.count();
    full_.store(states_.num_sets() > static_cast<int64_t>(GrammarStates::kReservedSets), std::memory_order_relaxed);
    return made;
}

void TokenGrammar::make_mask(GrammarState state, TokenMask& mask) {
    const std::span<const GrammarItem> items = states_.items(state.id);
    for (const GrammarItem& item : items)
        if (grammar_->node(item.node).any) return make_free_mask(state, mask);
    mask.clear();
    if (const TokenTree* tree = fill(items, mask)) walk(*tree, items, mask);
    for (const GrammarItem& item : items)
        for (const GrammarEdge& edge : grammar_->edges(item.node))
            if (edge.kind == GrammarEdge::Kind::token && after(state, edge.token)) mask.set(edge.token, true);
    for (const int32_t id : end_ids_) mask.set(id, may_end(state));
}

// Where every byte is allowed, so is every token but those that are named.
void TokenGrammar::make_free_mask(GrammarState state, TokenMask& mask) {
    mask = vocabulary_->all();
    for (const GrammarItem& item : states_.items(state.id))
        for (const GrammarEdge& edge : grammar_->edges(item.node))
            if (edge.kind == GrammarEdge::Kind::token) mask.set(edge.token, after(state, edge.token).has_value());
    for (const int32_t id : end_ids_) mask.set(id, may_end(state));
}

// Puts into the mask what needs no look at its bytes; the tree of the rest.
const TokenTree* TokenGrammar::fill(std::span<const GrammarItem> items, TokenMask& mask) const {
    const bool alone = items.size() == 1 || (items.size() == 2 && items[0].node == ByteGrammar::kEnd);
    for (const GrammarItem& item : items) {
        const GrammarNode& node = grammar_->node(item.node);
        if (node.fill == GrammarFill::none) continue;
        const GrammarVocabulary::Filler& filler = vocabulary_->filler(node.fill);
        // What is too long here might be taken in another reading.
        if (!alone && node.remaining < filler.max_length) continue;
        mask = filler.mask;
        for (const GrammarVocabulary::Filler::Counted& counted : filler.longest_first) {
            if (counted.length <= node.remaining) break;
            mask.set(counted.token, false);
        }
        return &filler.others;
    }
    return &vocabulary_->tree();
}

void TokenGrammar::walk(const TokenTree& tree, std::span<const GrammarItem> items, TokenMask& mask) {
    levels_[0].assign(items.begin(), items.end());
    const size_t count = tree.nodes.size() - 1;
    for (size_t i = 0; i < count;) {
        const TokenTree::Node& node = tree.nodes[i];
        std::vector<GrammarItem>& reached = levels_[node.depth];
        states_.step(levels_[node.depth - 1u], node.byte, reached);
        if (reached.empty()) {
            i = node.skip;
            continue;
        }
        for (uint32_t k = node.first; k < tree.nodes[i + 1].first; ++k) mask.set(tree.tokens[k], true);
        ++i;
    }
}

}  // namespace colugo
