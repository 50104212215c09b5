#include "text/byte_pair_encoder.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/error.h"

namespace colugo {
namespace {

constexpr uint64_t kNoPair = ~uint64_t{0};
constexpr uint32_t kNoMerge = std::numeric_limits<uint32_t>::max();
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
// Up to this many symbols, looking at all of them for each merge is faster than keeping a heap.
constexpr size_t kMostScanned = 32;

uint64_t pair_key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

// A heap keeps its greatest on top: the candidate to take first.
bool taken_later(const BytePairEncoder::Scratch::Candidate& a, const BytePairEncoder::Scratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

}  // namespace

BytePairEncoder::BytePairEncoder(const std::array<int32_t, 256>& byte_tokens, std::span<const Merge> merges)
    : byte_tokens_(byte_tokens) {
    COLUGO_CHECK(merges.size() < kNoMerge);
    const size_t capacity = std::bit_ceil(merges.size() * 2 + 2);
    shift_ = 64 - std::countr_zero(capacity);
    slots_.assign(capacity, Slot{kNoPair, kNoMerge, -1});
    for (size_t rank = 0; rank < merges.size(); ++rank) {
        const Merge& merge = merges[rank];
        const uint64_t pair = pair_key(merge.left, merge.right);
        size_t at = home_slot(pair);
        while (slots_[at].pair != kNoPair && slots_[at].pair != pair) at = (at + 1) & (capacity - 1);
        slots_[at] = {pair, static_cast<uint32_t>(rank), merge.result};
    }
}

// Fibonacci hashing: the high bits of the product depend on all bits of the pair.
size_t BytePairEncoder::home_slot(uint64_t pair) const {
    return static_cast<size_t>((pair ^ pair >> 29) * 0x9E3779B97F4A7C15u >> shift_);
}

const BytePairEncoder::Slot* BytePairEncoder::find(int32_t left, int32_t right) const {
    const uint64_t pair = pair_key(left, right);
    size_t at = home_slot(pair);
    while (slots_[at].pair != pair) {
        if (slots_[at].pair == kNoPair) return nullptr;
        at = (at + 1) & (slots_.size() - 1);
    }
    return &slots_[at];
}

void BytePairEncoder::encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& out) const {
    if (piece.empty()) return;
    if (piece.size() >= kNone) fail(ErrorCode::invalid_argument, "a text of {} bytes is too long", piece.size());
    auto& symbols = scratch.symbols;
    symbols.resize(piece.size());
    for (uint32_t i = 0; i < symbols.size(); ++i) {
        const int32_t token = byte_tokens_[static_cast<unsigned char>(piece[i])];
        COLUGO_CHECK(token >= 0);
        symbols[i] = {token, kNoMerge, -1, i - 1, i + 1};  // the first's previous wraps around to kNone
    }
    symbols.back().next = kNone;
    for (uint32_t i = 0; i + 1 < symbols.size(); ++i) rank_pair(scratch, i);
    if (symbols.size() <= kMostScanned) {
        merge_by_scan(scratch);
    } else {
        merge_by_heap(scratch);
    }
    for (uint32_t i = 0; i != kNone; i = symbols[i].next) out.push_back(symbols[i].token);
}

void BytePairEncoder::rank_pair(Scratch& scratch, uint32_t position) const {
    auto& symbol = scratch.symbols[position];
    ++scratch.steps;
    const Slot* slot = symbol.next == kNone ? nullptr : find(symbol.token, scratch.symbols[symbol.next].token);
    symbol.rank = slot == nullptr ? kNoMerge : slot->rank;
    symbol.result = slot == nullptr ? -1 : slot->result;
}

// Puts the merge of a symbol with the next in its place; the next is taken out, with no merge of its own.
void BytePairEncoder::merge_at(Scratch& scratch, uint32_t position) const {
    auto& symbols = scratch.symbols;
    auto& symbol = symbols[position];
    auto& taken = symbols[symbol.next];
    symbol.token = symbol.result;
    symbol.next = taken.next;
    taken.rank = kNoMerge;
    if (symbol.next != kNone) symbols[symbol.next].previous = position;
    rank_pair(scratch, position);
    if (symbol.previous != kNone) rank_pair(scratch, symbol.previous);
}

void BytePairEncoder::merge_by_scan(Scratch& scratch) const {
    const auto& symbols = scratch.symbols;
    while (true) {
        uint32_t best = 0;
        for (uint32_t i = symbols[0].next; i != kNone; i = symbols[i].next) {
            if (symbols[i].rank < symbols[best].rank) best = i;
        }
        if (symbols[best].rank == kNoMerge) return;
        merge_at(scratch, best);
    }
}

void BytePairEncoder::merge_by_heap(Scratch& scratch) const {
    const auto& symbols = scratch.symbols;
    auto& heap = scratch.heap;
    heap.clear();
    for (uint32_t i = 0; i < symbols.size(); ++i) {
        if (symbols[i].rank != kNoMerge) heap.push_back({symbols[i].rank, i});
    }
    std::make_heap(heap.begin(), heap.end(), taken_later);
    const auto offer = [&](uint32_t position) {
        if (position == kNone || symbols[position].rank == kNoMerge) return;
        heap.push_back({symbols[position].rank, position});
        std::push_heap(heap.begin(), heap.end(), taken_later);
    };
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), taken_later);
        const auto [rank, position] = heap.back();
        heap.pop_back();
        ++scratch.steps;
        if (symbols[position].rank != rank) continue;  // the pair has changed since it was offered
        merge_at(scratch, position);
        offer(position);
        offer(symbols[position].previous);
    }
}

}  // namespace colugo
