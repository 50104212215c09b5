// Where a text stands in a ByteGrammar: the nodes it may be at, each with the nodes that the calls open there return
// to.
//
// A text may be read in several ways, each with its own stack of calls. Stacks are shared: a set is a list of nodes in
// ascending order, each with the set of what lies below it, and sets that are equal are one set, with one id. So a
// state is an id, equal states have equal ids, and states stay few where readings multiply.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/byte_grammar.h"

namespace colugo {

struct GrammarItem {
    uint32_t node;
    uint32_t below;  // a set
    friend bool operator==(const GrammarItem&, const GrammarItem&) = default;
};

// Not for several threads at once.
class GrammarStates {
 public:
    // Up to here sets take nothing from the heap: their memory is there from the beginning.
    static constexpr size_t kReservedSets = 4096, kReservedItems = 8192;

    // Borrows the grammar.
    explicit GrammarStates(const ByteGrammar& grammar);

    static constexpr uint32_t kNothing = 0;  // the set without items: as a state, a text that is not allowed
    uint32_t start() const { return start_; }
    // Valid as long as this.
    std::span<const GrammarItem> items(uint32_t set) const { return sets_[set].items; }
    uint32_t intern(std::span<const GrammarItem> items);

    // The items after one byte, or after a control token, in `to`, which is not `from`. None: not allowed.
    void step(std::span<const GrammarItem> from, uint8_t byte, std::vector<GrammarItem>& to);
    void step_token(std::span<const GrammarItem> from, int32_t token, std::vector<GrammarItem>& to);

    int64_t num_sets() const { return static_cast<int64_t>(sets_.size()); }
    // What all sets take.
    int64_t bytes() const;

 private:
    struct Set {
        std::span<const GrammarItem> items;
        uint64_t hash;
        int depth;  // objects and arrays open, at most, below
    };

    struct United {
        uint64_t key = 0;  // the two sets; 0: free
        uint32_t set = kNothing;
    };

    void add_block(size_t items);
    std::span<const GrammarItem> keep(std::span<const GrammarItem> items);
    void grow_index();
    uint32_t push(uint32_t node, uint32_t below);
    uint32_t unite(uint32_t a, uint32_t b);
    bool fits(uint32_t node, uint32_t below) const;
    void begin(std::vector<GrammarItem>& to);
    void follow(const GrammarItem& item, const GrammarEdge& edge, std::vector<GrammarItem>& to);
    bool step_alone(const GrammarItem& item, uint8_t byte, std::vector<GrammarItem>& to);
    void add(uint32_t node, uint32_t below, std::vector<GrammarItem>& to);
    void close(std::vector<GrammarItem>& to);

    const ByteGrammar& grammar_;
    std::vector<Set> sets_;
    std::vector<uint32_t> index_;  // by hash: ids of sets, 0 where free
    std::vector<std::unique_ptr<GrammarItem[]>> blocks_;
    size_t block_left_ = 0;
    GrammarItem* block_next_ = nullptr;
    int64_t item_bytes_ = 0;
    std::vector<United> united_;  // by hash: what unite gave last
    uint32_t start_;
    // While a step is made: where the items of each node are, in the list being made, if mark_[node] == round_.
    std::vector<uint32_t> mark_, place_;
    uint32_t round_ = 0;
    std::vector<GrammarItem> both_;  // of sets that are being united, one behind the other
    std::vector<uint32_t> work_;     // places in the list whose items have not been followed yet
};

}  // namespace colugo
