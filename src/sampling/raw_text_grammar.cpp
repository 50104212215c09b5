#include "sampling/raw_text_grammar.h"

#include <algorithm>

#include "base/error.h"

namespace colugo {
namespace {

CharSet set_of(const RawTextGrammar::Characters& characters) {
    CharSet set;
    for (uint32_t c = 0; c < characters.size(); ++c)
        if (characters[c]) set.push_back({c, c});
    return normalize(std::move(set));
}

}  // namespace

// Text without a limit: one part of the grammar for all parameters. A line break may be of the text or begin the mark.
uint32_t RawTextGrammar::free_state(uint32_t state) {
    if (free_ != 0) return free_ + state;
    const std::vector<uint32_t> nodes = json_.text(clear_);
    const uint32_t mark = builder_.add_node(), end = builder_.add_node();
    for (const uint32_t node : nodes) builder_.byte(node, '\n', mark);
    builder_.literal(mark, kParameterEnd.substr(1), end);
    builder_.node(end).accepts = true;
    free_ = nodes[0];
    builder_.node(free_).fill = GrammarFill::raw_text;
    return free_ + state;
}

// What is behind a state of clear_ at `from`, in a row of nodes for its states.
void RawTextGrammar::text_edges(uint32_t from, uint32_t state, uint32_t row, const Characters& barred) {
    const CharSet open = complement(set_of(barred));
    for (const CharDfa::Edge& edge : clear_.states[state].edges)
        for (const CharRange range : open) {
            const CharRange common{std::max(edge.range.low, range.low), std::min(edge.range.high, range.high)};
            if (common.low <= common.high) json_.characters(from, common, row + edge.target);
        }
}

void RawTextGrammar::of_length(uint32_t from, uint32_t min, uint32_t max, const Characters& barred, uint32_t to) {
    if (min == 0 && max == kNoMaximum && barred.none()) return builder_.call(from, free_state(0), to);
    if (barred.any()) return builder_.call(from, counted(min, max, barred), to);
    const auto [start, fresh] = counted_.emplace(std::pair{min, max}, 0);
    if (fresh) start->second = counted(min, max, barred);
    builder_.call(from, start->second, to);
}

// For each length a row of nodes: one for each state of clear_, and one behind a line break that begins the mark, which
// leads on only where the text may end. Rows have their edges in common.
uint32_t RawTextGrammar::counted(uint32_t min, uint32_t max, const Characters& barred) {
    const uint32_t count = max == kNoMaximum ? std::max(min, 1u) : max;
    COLUGO_CHECK(min <= count && count <= kMaxCountedLength);
    const auto states = static_cast<uint32_t>(clear_.states.size());
    const uint32_t stride = states + 1, rows = builder_.add_nodes(stride * (count + 1));
    const uint32_t mark = builder_.add_node(), end = builder_.add_node();
    builder_.literal(mark, kParameterEnd.substr(1), end);
    builder_.node(end).accepts = true;
    for (uint32_t length = 0; length <= count; ++length) {
        const uint32_t row = rows + stride * length, mark_begins = row + states;
        const bool last = length == count;
        if (length >= min) builder_.empty(mark_begins, mark);
        for (uint32_t state = 0; state < (length == 0 ? 1 : states); ++state) {
            const uint32_t node = row + state;
            if (last && max == kNoMaximum) {
                builder_.call(node, free_state(state), end);
                continue;
            }
            if (!last && state == 0 && (length > 0 || barred.none())) {
                builder_.node(node).fill = GrammarFill::raw_text;
                builder_.node(node).remaining = max == kNoMaximum ? kNoRemainder : max - length;
            }
            if (!last && length > 1) {
                builder_.share_edges(node, rows + stride + state);
                continue;
            }
            builder_.byte(node, '\n', mark_begins);
            if (!last) text_edges(node, state, row + stride, length == 0 ? barred : Characters{});
        }
    }
    return rows;
}

void RawTextGrammar::taken_by(uint32_t from, const CharDfa& automaton, const Characters& barred, std::string_view what,
                              uint32_t to) {
    CharDfa text = intersect(automaton, clear_, what);
    if (text.is_empty()) fail(ErrorCode::invalid_argument, "{} allows no text that can stand in a call", what);
    if (barred.any()) text = intersect(text, strings_not_beginning(set_of(barred)), what);
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
        const uint8_t first = word.empty() ? uint8_t{0x80} : static_cast<uint8_t>(word[0]);
        if (!(first < 0x80 && barred[first]) && !has_call_tag(word)) clear.push_back(word);
    }
    const uint32_t end = builder_.add_node();
    builder_.words(from, std::move(clear), end);
    builder_.literal(end, kParameterEnd, to);
}

}  // namespace colugo
