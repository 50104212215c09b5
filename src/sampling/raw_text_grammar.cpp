#include "sampling/raw_text_grammar.h"

#include <algorithm>

#include "base/error.h"

namespace colugo {
namespace {

constexpr uint32_t kNowhere = ByteGrammar::kNowhere;
constexpr uint32_t kMaxLength = 8192;  // a greater maximum counts as this

}  // namespace

// A character of text behind which the last `matched` characters are the first of the mark: one that is not the mark's
// next leads to `miss`, but a line break, which the mark begins with, to `first`.
void RawTextGrammar::text_edges(uint32_t from, uint32_t matched, uint32_t miss, uint32_t first, uint32_t match,
                                const Characters& barred) {
    const auto target_of = [&](uint32_t c) {
        if (barred[c]) return kNowhere;
        return c == static_cast<uint8_t>(kParameterEnd[matched]) ? match : c == '\n' ? first : miss;
    };
    for (uint32_t low = 0, high = 0; low < 128; low = high + 1) {
        for (high = low; high + 1 < 128 && target_of(high + 1) == target_of(low);) ++high;
        if (target_of(low) != kNowhere)
            builder_.bytes(from, static_cast<uint8_t>(low), static_cast<uint8_t>(high), target_of(low));
    }
    json_.wide(from, miss);
}

// Without a limit on its length: one part of the grammar for all parameters. Of its states, those up to kMarkSize may
// end when the mark is complete; those behind have matched what lies before the text or where it must not end yet.
void RawTextGrammar::make_free() {
    const uint32_t end = builder_.add_node();
    builder_.node(end).accepts = true;
    free_ = builder_.add_nodes(2 * kMarkSize);
    for (const bool may_end : {true, false})
        for (uint32_t matched = 0; matched < kMarkSize; ++matched) {
            const bool last = matched + 1 == kMarkSize;
            const uint32_t state = free_state(matched, may_end);
            text_edges(state, matched, free_state(0, true), free_state(1, true),
                       !last     ? free_state(matched + 1, may_end || matched == 0)
                       : may_end ? end
                                 : kNowhere,
                       {});
            if (matched < 2) builder_.node(state).fill = matched == 0 ? GrammarFill::raw_text : GrammarFill::raw_line;
        }
}

uint32_t RawTextGrammar::free_state(uint32_t matched, bool may_end) {
    if (free_ == 0) make_free();
    return free_ + matched + (may_end ? 0 : kMarkSize);
}

// For each length a row of nodes: one for each part of the mark that may have been matched, in none of which the mark
// gets complete, and one behind a line break that begins the mark itself, which leads on only where the text may end.
void RawTextGrammar::of_length(uint32_t from, uint32_t min, uint32_t max, const Characters& barred, uint32_t to) {
    if (min == 0 && max == kNoMaximum && barred.none()) return builder_.call(from, free_state(1, false), to);
    if (max != kNoMaximum) max = std::max(min, std::min(max, kMaxLength));
    const uint32_t count = max == kNoMaximum ? std::max(min, 1u) : max;
    constexpr uint32_t kRow = kMarkSize + 1;
    const uint32_t rows = builder_.add_nodes(kRow * (count + 1));
    const uint32_t mark = builder_.add_node();
    builder_.literal(mark, kParameterEnd.substr(1), to);
    const uint32_t begin = builder_.add_node();
    builder_.empty(from, begin);
    for (uint32_t length = 0; length <= count; ++length) {
        const uint32_t row = rows + kRow * length, mark_begins = row + kMarkSize;
        if (length >= min) builder_.empty(mark_begins, mark);
        for (uint32_t matched = 0; matched < kMarkSize; ++matched) {
            if (length == 0 && matched != 1) continue;
            const uint32_t node = length == 0 ? begin : row + matched;
            const bool last = length == count;
            if (last && max == kNoMaximum) {
                builder_.call(node, free_state(matched, matched == 0), to);
                continue;
            }
            if (!last && matched < 2) {
                builder_.node(node).fill = matched == 0 ? GrammarFill::raw_text : GrammarFill::raw_line;
                builder_.node(node).remaining = max == kNoMaximum ? kNoRemainder : max - length;
            }
            if (!last && length > 1) {
                builder_.share_edges(node, rows + kRow + matched);
                continue;
            }
            builder_.byte(node, '\n', mark_begins);
            if (last) continue;
            const uint32_t next = row + kRow;
            text_edges(node, matched, next, next + 1, matched + 1 == kMarkSize ? kNowhere : next + matched + 1,
                       node == begin ? barred : Characters{});
        }
    }
    if (barred.any()) builder_.node(begin).fill = GrammarFill::none;
}

void RawTextGrammar::taken_by(uint32_t from, const CharDfa& automaton, const Characters& barred, std::string_view what,
                              uint32_t to) {
    CharSet first;
    for (uint32_t c = 0; c < barred.size(); ++c)
        if (barred[c]) first.push_back({c, c});
    CharDfa text = intersect(automaton, strings_without(kParameterEnd, true), what);
    if (text.is_empty()) fail(ErrorCode::invalid_argument, "{} allows no text that can stand in a call", what);
    if (!first.empty()) text = intersect(text, strings_not_beginning(first), what);
    const std::vector<uint32_t> nodes = json_.text(text);
    const uint32_t end = builder_.add_node();
    builder_.empty(from, nodes[0]);
    for (size_t i = 0; i < nodes.size(); ++i)
        if (text.states[i].accepts) builder_.byte(nodes[i], '\n', end);
    builder_.literal(end, kParameterEnd.substr(1), to);
}

void RawTextGrammar::words(uint32_t from, const std::vector<std::string>& words, const Characters& barred,
                           uint32_t to) {
    std::vector<std::string> clear;
    for (const std::string& word : words) {
        const bool is_barred =
            !word.empty() && static_cast<uint8_t>(word[0]) < 128 && barred[static_cast<uint8_t>(word[0])];
        const bool begins_with_mark = word.substr(0, kMarkSize - 1) == kParameterEnd.substr(1);
        if (!is_barred && !begins_with_mark && word.find(kParameterEnd) == std::string::npos) clear.push_back(word);
    }
    const uint32_t end = builder_.add_node();
    builder_.words(from, std::move(clear), end);
    builder_.literal(end, kParameterEnd, to);
}

}  // namespace colugo
