#include "sampling/grammar_states.h"

#include <algorithm>

#include "base/error.h"

namespace colugo {
namespace {

constexpr size_t kBlockItems = 1024;
constexpr size_t kUnited = 1 << 12;
constexpr size_t kReservedWork = 1024;

constexpr uint64_t kMixer = 0x9E3779B97F4A7C15u;

uint64_t hash_of(std::span<const GrammarItem> items) {
    uint64_t hash = items.size();
    for (const GrammarItem& item : items) {
        hash = (hash ^ (uint64_t{item.node} << 32 | item.below)) * kMixer;
        hash ^= hash >> 29;
    }
    return hash;
}

}  // namespace

GrammarStates::GrammarStates(const ByteGrammar& grammar)
    : grammar_(grammar),
      index_(2 * kReservedSets),
      united_(kUnited),
      mark_(grammar.num_nodes()),
      place_(grammar.num_nodes()) {
    sets_.reserve(kReservedSets);
    sets_.push_back({{}, 0, 0});
    add_block(kReservedItems);
    both_.reserve(kReservedWork);
    work_.reserve(kReservedWork);
    std::vector<GrammarItem> items;
    begin(items);
    add(grammar.start(), push(ByteGrammar::kEnd, kNothing), items);
    close(items);
    start_ = intern(items);
}

int64_t GrammarStates::bytes() const {
    return item_bytes_ + static_cast<int64_t>(sets_.capacity() * sizeof(Set) + united_.size() * sizeof(United) +
                                              (index_.size() + mark_.size() + place_.size()) * sizeof(uint32_t));
}

void GrammarStates::add_block(size_t items) {
    block_left_ = items;
    blocks_.push_back(std::make_unique_for_overwrite<GrammarItem[]>(items));
    block_next_ = blocks_.back().get();
    item_bytes_ += static_cast<int64_t>(items * sizeof(GrammarItem));
}

std::span<const GrammarItem> GrammarStates::keep(std::span<const GrammarItem> items) {
    if (items.size() > block_left_) add_block(std::max(items.size(), kBlockItems));
    const std::span kept(block_next_, items.size());
    std::copy(items.begin(), items.end(), kept.begin());
    block_next_ += items.size();
    block_left_ -= items.size();
    return kept;
}

void GrammarStates::grow_index() {
    index_.assign(2 * index_.size(), 0);
    for (uint32_t id = 1; id < sets_.size(); ++id) {
        size_t slot = sets_[id].hash & (index_.size() - 1);
        while (index_[slot] != 0) slot = (slot + 1) & (index_.size() - 1);
        index_[slot] = id;
    }
}

uint32_t GrammarStates::intern(std::span<const GrammarItem> items) {
    if (items.empty()) return kNothing;
    const uint64_t hash = hash_of(items);
    size_t slot = hash & (index_.size() - 1);
    for (; index_[slot] != 0; slot = (slot + 1) & (index_.size() - 1)) {
        const Set& set = sets_[index_[slot]];
        if (set.hash == hash && std::equal(set.items.begin(), set.items.end(), items.begin(), items.end()))
            return index_[slot];
    }
    int depth = 0;
    for (const GrammarItem& item : items)
        depth = std::max(depth, sets_[item.below].depth + (grammar_.node(item.node).leaves_nesting ? 1 : 0));
    const auto id = static_cast<uint32_t>(sets_.size());
    sets_.push_back({keep(items), hash, depth});
    index_[slot] = id;
    if (2 * sets_.size() > index_.size()) grow_index();
    return id;
}

// A return that would only return again is left out, so stacks are as deep as objects and arrays nest.
uint32_t GrammarStates::push(uint32_t node, uint32_t below) {
    if (grammar_.node(node).returns_only) return below;
    const GrammarItem item{node, below};
    return intern(std::span(&item, 1));
}

// Recursive; sets are no deeper than a few times kMaxGrammarNesting.
uint32_t GrammarStates::unite(uint32_t a, uint32_t b) {
    if (a == b || b == kNothing) return a;
    if (a == kNothing) return b;
    if (a > b) std::swap(a, b);
    const uint64_t key = uint64_t{a} << 32 | b;
    United& known = united_[(key * kMixer >> 32) & (kUnited - 1)];
    if (known.key == key) return known.set;
    const std::span<const GrammarItem> left = items(a), right = items(b);
    const size_t begin = both_.size();
    size_t i = 0, j = 0;
    while (i < left.size() || j < right.size()) {
        if (j == right.size() || (i < left.size() && left[i].node < right[j].node))
            both_.push_back(left[i++]);
        else if (i == left.size() || right[j].node < left[i].node)
            both_.push_back(right[j++]);
        else {
            const uint32_t below = unite(left[i].below, right[j].below);
            both_.push_back({left[i].node, below});
            ++i, ++j;
        }
    }
    const uint32_t united = intern(std::span(both_).subspan(begin));
    both_.resize(begin);
    known = {key, united};
    return united;
}

// Whether what is open can still be closed from here: a way that nests too deep is never begun.
bool GrammarStates::fits(uint32_t node, uint32_t below) const {
    return grammar_.node(node).need + sets_[below].depth <= kMaxGrammarNesting;
}

void GrammarStates::add(uint32_t node, uint32_t below, std::vector<GrammarItem>& to) {
    if (!fits(node, below)) return;
    if (mark_[node] != round_) {
        mark_[node] = round_;
        place_[node] = static_cast<uint32_t>(to.size());
        work_.push_back(place_[node]);
        to.push_back({node, below});
        return;
    }
    GrammarItem& item = to[place_[node]];
    const uint32_t united = unite(item.below, below);
    if (united == item.below) return;
    item.below = united;
    work_.push_back(place_[node]);
}

void GrammarStates::begin(std::vector<GrammarItem>& to) {
    to.clear();
    if (++round_ != 0) return;
    std::fill(mark_.begin(), mark_.end(), 0u);
    round_ = 1;
}

void GrammarStates::follow(const GrammarItem& item, const GrammarEdge& edge, std::vector<GrammarItem>& to) {
    uint32_t below = item.below;
    if (edge.calls()) {
        const uint32_t next = edge.next_from(item.node);
        if (!fits(next, below)) return;
        below = push(next, below);
    }
    add(edge.target_from(item.node), below, to);
}

void GrammarStates::close(std::vector<GrammarItem>& to) {
    while (!work_.empty()) {
        const GrammarItem item = to[work_.back()];
        work_.pop_back();
        const GrammarNode& node = grammar_.node(item.node);
        if (node.plain) continue;
        for (const GrammarEdge& edge : grammar_.edges(item.node))
            if (edge.kind == GrammarEdge::Kind::empty || edge.kind == GrammarEdge::Kind::call) follow(item, edge, to);
        if (node.accepts)
            for (const GrammarItem& back : items(item.below)) add(back.node, back.below, to);
    }
    if (to.size() == 1 && grammar_.node(to[0].node).lives) return;
    std::erase_if(to, [&](const GrammarItem& item) { return !grammar_.node(item.node).lives; });
    std::sort(to.begin(), to.end(), [](const GrammarItem& a, const GrammarItem& b) { return a.node < b.node; });
    if (to.size() <= kMaxStringReadings) return;
    // Each reading has a way on by itself, so those that are kept are as right without the others.
    size_t broad = 0;
    std::erase_if(
        to, [&](const GrammarItem& item) { return grammar_.node(item.node).broad && ++broad > kMaxStringReadings; });
}

// The step of a text that is read in one way and goes on in one, as most do: false, if this is not such a step.
bool GrammarStates::step_alone(const GrammarItem& item, uint8_t byte, std::vector<GrammarItem>& to) {
    if (grammar_.node(item.node).any) return false;
    const GrammarEdge* taken = nullptr;
    for (const GrammarEdge& edge : grammar_.edges(item.node)) {
        if (edge.kind != GrammarEdge::Kind::bytes || byte < edge.low || edge.high < byte) continue;
        if (taken != nullptr) return false;
        taken = &edge;
    }
    to.clear();
    if (taken == nullptr) return true;
    const uint32_t target = taken->target_from(item.node);
    if (!grammar_.node(target).plain) return false;
    uint32_t below = item.below;
    if (taken->calls()) {
        const uint32_t next = taken->next_from(item.node);
        if (!fits(next, below)) return true;
        below = push(next, below);
    }
    if (fits(target, below) && grammar_.node(target).lives) to.push_back({target, below});
    return true;
}

void GrammarStates::step(std::span<const GrammarItem> from, uint8_t byte, std::vector<GrammarItem>& to) {
    if (from.size() == 1 && step_alone(from[0], byte, to)) return;
    begin(to);
    for (const GrammarItem& item : from) {
        for (const GrammarEdge& edge : grammar_.edges(item.node))
            if (edge.kind == GrammarEdge::Kind::bytes && edge.low <= byte && byte <= edge.high) follow(item, edge, to);
        if (grammar_.node(item.node).any) add(item.node, item.below, to);
    }
    close(to);
}

void GrammarStates::step_token(std::span<const GrammarItem> from, int32_t token, std::vector<GrammarItem>& to) {
    begin(to);
    for (const GrammarItem& item : from) {
        bool named = false;
        for (const GrammarEdge& edge : grammar_.edges(item.node)) {
            if (edge.kind != GrammarEdge::Kind::token || edge.token != token) continue;
            named = true;
            follow(item, edge, to);
        }
        if (grammar_.node(item.node).any && !named) add(item.node, item.below, to);
    }
    close(to);
}

}  // namespace colugo
