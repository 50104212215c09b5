// The tokens of a model, laid out for grammars: as a tree of their bytes, and with those set apart that move through a
// string without a surprise (GrammarFill), so that a mask is mostly a copy.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "sampling/byte_grammar.h"
#include "sampling/token_mask.h"

namespace colugo {

struct VocabularyToken {
    std::string_view bytes = {};  // empty: there is no such token
    bool control = false;         // a symbol of its own, whatever its bytes
};

// Tokens as a tree, in the order of a walk that can leave a branch out.
struct TokenTree {
    struct Node {
        uint32_t skip;   // the node behind all that begin with this one's bytes
        uint32_t first;  // its tokens: tokens[first .. first of the next node)
        uint16_t depth;  // bytes up to here, at least 1
        uint8_t byte;
    };
    std::vector<Node> nodes;      // and one behind the last
    std::vector<int32_t> tokens;  // ids
    int max_depth = 0;
};

// Immutable once made: const calls may come from several threads.
class GrammarVocabulary {
 public:
    struct Filler {
        TokenMask mask{0, false};  // the tokens of the kind
        TokenTree others;          // text tokens that are not
        struct Counted {
            int32_t token;
            uint32_t length;  // code points
        };
        std::vector<Counted> longest_first;  // those of the mask
        uint32_t max_length = 0;
    };

    // token(id) for ids 0 .. size - 1, called while this is made only. Throws unsupported when there is a byte of UTF-8
    // that is no token by itself, for then there may be no way on in the middle of a text.
    GrammarVocabulary(int64_t size, FunctionRef<VocabularyToken(int32_t)> token);

    int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
    bool is_control(int32_t token) const { return controls_.contains(token); }
    // Of a text token.
    std::string_view bytes(int32_t token) const {
        const auto i = static_cast<size_t>(token);
        return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
    }
    const TokenMask& all() const { return all_; }  // text and control
    const TokenTree& tree() const { return tree_; }
    const Filler& filler(GrammarFill fill) const { return fillers_[static_cast<size_t>(fill)]; }

 private:
    void make_filler(GrammarFill fill, std::span<const int32_t> sorted);
    TokenTree make_tree(std::span<const int32_t> sorted) const;

    std::string bytes_;            // of text tokens, in the order of ids
    std::vector<size_t> offsets_;  // [size + 1]
    TokenMask controls_, all_;
    TokenTree tree_;
    std::array<Filler, kGrammarFills> fillers_;  // that of `none` is empty
};

}  // namespace colugo
