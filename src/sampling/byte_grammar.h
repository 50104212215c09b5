// What a reply may be, as a recursive automaton over its bytes and control tokens: a finite automaton whose edges may
// call another part of it, which returns where the caller says. GrammarBuilder makes one; it never changes after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace colugo {

// The nesting of JSON objects and arrays that any output can have.
inline constexpr int kMaxGrammarNesting = 64;

// The ways in which a text can be read at once, of those that are in strings: what a mask costs grows with them.
inline constexpr size_t kMaxStringReadings = 32;

// Text that a node takes whatever it is, as long as it is of this kind, so that most of the vocabulary is decided
// without a look at it (GrammarVocabulary).
enum class GrammarFill : uint8_t {
    none,
    json_string,  // valid UTF-8 without '"', '\', what is below U+0020, U+2028, U+2029, and tags of calls
    raw_text,     // valid UTF-8 without '\n', with which the text may end, and tags of calls
};
inline constexpr int kGrammarFills = 3;

inline constexpr uint32_t kNoRemainder = 0xFFFFFFFF;
inline constexpr int32_t kNoReturn = INT32_MIN;

struct GrammarNode {
    uint32_t first_edge = 0;  // nodes may share their edges
    uint32_t num_edges = 0;
    uint32_t remaining = kNoRemainder;  // code points that `fill` may still take; kNoRemainder: any number
    GrammarFill fill = GrammarFill::none;
    bool accepts = false;         // here a call returns, and the reply may end where nothing was called
    bool any = false;             // every byte and every token without an edge stays here
    bool leaves_nesting = false;  // where the call of an object's or array's inside returns
    bool lives = false;           // a byte or a token goes on from here, or the reply ends here
    bool plain = false;           // nothing happens here without a byte or a token
    bool returns_only = false;    // it does nothing but return
    bool broad = false;           // much goes on from here, as in a string of any kind
    // The least further nesting with which its call can return; above kMaxGrammarNesting: it cannot.
    uint8_t need = 0;
};

struct GrammarEdge {
    enum class Kind : uint8_t {
        bytes,  // one byte in low .. high, and a call where there is a return
        empty,  // nothing
        call,   // nothing; what is called writes
        token,  // one control token
    };
    Kind kind = Kind::empty;
    uint8_t low = 0, high = 0;
    int32_t token = -1;
    // Nodes, relative to the one the edge leaves, so that nodes in a row can share edges; what is called is not.
    int32_t target = 0;
    int32_t next = kNoReturn;  // where `target`, which is called then, returns; kNoReturn: it is not called

    bool calls() const { return next != kNoReturn; }
    uint32_t target_from(uint32_t node) const { return static_cast<uint32_t>(target) + (calls() ? 0 : node); }
    uint32_t next_from(uint32_t node) const { return static_cast<uint32_t>(next) + node; }
};

class ByteGrammar {
 public:
    ByteGrammar(std::vector<GrammarNode> nodes, std::vector<GrammarEdge> edges, uint32_t start)
        : nodes_(std::move(nodes)), edges_(std::move(edges)), start_(start) {}

    uint32_t start() const { return start_; }
    // Node 0 is the end of the reply: it lives and has no edges. Node 1 is nowhere: a token that leads to it is not
    // allowed.
    static constexpr uint32_t kEnd = 0;
    static constexpr uint32_t kNowhere = 1;

    uint32_t num_nodes() const { return static_cast<uint32_t>(nodes_.size()); }
    const GrammarNode& node(uint32_t id) const { return nodes_[id]; }
    std::span<const GrammarEdge> edges(uint32_t id) const {
        return std::span(edges_).subspan(nodes_[id].first_edge, nodes_[id].num_edges);
    }
    int64_t bytes() const {
        return static_cast<int64_t>(nodes_.size() * sizeof(GrammarNode) + edges_.size() * sizeof(GrammarEdge));
    }

 private:
    std::vector<GrammarNode> nodes_;
    std::vector<GrammarEdge> edges_;
    uint32_t start_;
};

}  // namespace colugo
