// A grammar over a vocabulary: which tokens may come next, and where that leads.
//
// A token is allowed where the grammar takes all its bytes; that the text can still be brought to an end then, byte by
// byte at least, is a property of grammars, so at every state a token is allowed or the text may end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sampling/byte_grammar.h"
#include "sampling/grammar_states.h"
#include "sampling/grammar_vocabulary.h"
#include "sampling/mask_cache.h"
#include "sampling/token_mask.h"

namespace colugo {

// Where a text stands in the grammar. A function of the tokens; texts that can go on in the same ways, whichever their
// tokens, mostly have the same. Of one TokenGrammar, and valid as long as it.
struct GrammarState {
    uint32_t id = 0;
    friend bool operator==(const GrammarState&, const GrammarState&) = default;
};

// For one thread at a time, but for is_full(): asking makes states and masks. Several texts may be followed at once.
// States are kept until this goes, some hundred bytes for each token of a text at most.
class TokenGrammar {
 public:
    // end_ids: the tokens that end a reply, allowed where the text may end and nowhere else. masks: may be shared with
    // other grammars over the vocabulary that the same thread asks; nullptr: its own.
    TokenGrammar(std::shared_ptr<const ByteGrammar> grammar, std::shared_ptr<const GrammarVocabulary> vocabulary,
                 std::span<const int32_t> end_ids, std::shared_ptr<MaskCache> masks = nullptr);

    GrammarState start() const { return {states_.start()}; }
    // Size: the vocabulary's. Valid until the next call.
    const TokenMask& allowed(GrammarState state) { return entry(state).mask; }
    // Where the token leads; none: it is not allowed. An end leads nowhere else.
    std::optional<GrammarState> after(GrammarState state, int32_t token);
    bool may_end(GrammarState state) const;
    // The token, where one alone is allowed.
    std::optional<int32_t> only_choice(GrammarState state);

    // What states take.
    int64_t bytes() const { return states_.bytes(); }
    // It has more states than it began with room for: further texts better begin with a fresh one. From any thread.
    bool is_full() const { return full_.load(std::memory_order_relaxed); }

 private:
    const MaskCache::Entry& entry(GrammarState state);
    void make_mask(GrammarState state, TokenMask& mask);
    void make_free_mask(GrammarState state, TokenMask& mask);
    const TokenTree* fill(std::span<const GrammarItem> items, TokenMask& mask) const;
    void walk(const TokenTree& tree, std::span<const GrammarItem> items, TokenMask& mask);
    bool is_end(int32_t token) const;

    std::shared_ptr<const ByteGrammar> grammar_;
    std::shared_ptr<const GrammarVocabulary> vocabulary_;
    std::vector<int32_t> end_ids_;
    GrammarStates states_;
    std::shared_ptr<MaskCache> masks_;
    uint32_t owner_;                                // of masks
    std::vector<std::vector<GrammarItem>> levels_;  // while a tree is walked: the items behind each byte
    std::atomic<bool> full_{false};
};

}  // namespace colugo
