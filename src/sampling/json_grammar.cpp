#include "sampling/json_grammar.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sampling/call_tags.h"
#include "sampling/integer_range.h"
#include "sampling/pattern.h"

namespace colugo {
namespace {

constexpr uint32_t kMaxIndentation = 40;
constexpr uint32_t kMaxAscii = 0x7F;
constexpr CharRange kSurrogates{0xD800, 0xDFFF};
// Finite as a double, and no longer than one is exact.
constexpr std::string_view kNumber = "^-?(?:0|[1-9][0-9]{0,18})(?:\\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,2})?$";

uint8_t byte_of(uint32_t value) {
    return static_cast<uint8_t>(value);
}

// The character behind a backslash, of those that JSON has a short escape for and strings of automata are written with.
char short_escape(uint32_t point) {
    switch (point) {
        case '"':
            return '"';
        case '\\':
            return '\\';
        case '\b':
            return 'b';
        case '\f':
            return 'f';
        case '\n':
            return 'n';
        case '\r':
            return 'r';
        case '\t':
            return 't';
        default:
            return 0;
    }
}

// Whether a character of the range can be written in a string of an automaton.
bool is_writable(CharRange range) {
    for (uint32_t point = range.low; point <= range.high && point < ' '; ++point)
        if (short_escape(point)) return true;
    return range.high >= ' ' && !(range.low >= kSurrogates.low && range.high <= kSurrogates.high);
}

using Sources = std::vector<std::vector<uint32_t>>;

// The states that can be written to an end. sources: of each state, those that a writable character leads from.
std::vector<bool> ending_states(const CharDfa& automaton, const Sources& sources) {
    std::vector<bool> ending(automaton.states.size());
    std::vector<uint32_t> work;
    for (uint32_t i = 0; i < automaton.states.size(); ++i)
        if (automaton.states[i].accepts) work.push_back(i);
    while (!work.empty()) {
        const uint32_t state = work.back();
        work.pop_back();
        if (ending[state]) continue;
        ending[state] = true;
        work.insert(work.end(), sources[state].begin(), sources[state].end());
    }
    return ending;
}

// Whether every character of the fill json_string leads from the state to one of these.
bool leads_to(const CharDfa::State& state, const std::vector<bool>& states) {
    static const CharSet kNeeded = complement(
        normalize({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x2028, 0x2029}, {kSurrogates.low, kSurrogates.high}}));
    CharSet open;
    for (const CharDfa::Edge& edge : state.edges)
        if (states[edge.target]) open.push_back(edge.range);
    for (const CharRange hole : complement(normalize(std::move(open))))
        for (const CharRange needed : kNeeded)
            if (std::max(hole.low, needed.low) <= std::min(hole.high, needed.high)) return false;
    return true;
}

// The states behind which any text of the fill json_string may stand, however long: it leads to such states alone.
std::vector<bool> filling_states(const CharDfa& automaton) {
    Sources sources(automaton.states.size());
    std::vector<uint32_t> work;
    for (uint32_t i = 0; i < automaton.states.size(); ++i) {
        for (const CharDfa::Edge& edge : automaton.states[i].edges)
            if (is_writable(edge.range)) sources[edge.target].push_back(i);
        work.push_back(i);
    }
    std::vector<bool> filling = ending_states(automaton, sources);
    while (!work.empty()) {
        const uint32_t state = work.back();
        work.pop_back();
        if (!filling[state] || leads_to(automaton.states[state], filling)) continue;
        filling[state] = false;
        work.insert(work.end(), sources[state].begin(), sources[state].end());
    }
    return filling;
}

}  // namespace

JsonGrammar::JsonGrammar(GrammarBuilder& builder, Place place)
    : builder_(builder),
      place_(place),
      plain_(place == Place::in_call ? strings_without(kCallTags) : strings_of_length(0, kNoMaximum)) {}

std::string JsonGrammar::written(const nlohmann::ordered_json& value) const {
    std::string text = value.dump();
    if (place_ == Place::reply || !has_call_tag(text)) return text;
    for (size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
    return text;
}

void JsonGrammar::scalars(uint32_t from, const std::vector<const nlohmann::ordered_json*>& values, uint32_t to) {
    std::vector<std::string> words;
    for (const nlohmann::ordered_json* value : values) words.push_back(written(*value));
    builder_.words(from, std::move(words), to);
}

void JsonGrammar::key(uint32_t from, const std::string& name, uint32_t to) {
    builder_.literal(from, written(name), to);
}

uint32_t JsonGrammar::shared(uint32_t& start, const Fragment& make) {
    if (start != kUnmade) return start;
    start = builder_.add_node();
    const uint32_t end = builder_.add_node();
    builder_.node(end).accepts = true;
    make(start, end);
    return start;
}

uint32_t JsonGrammar::indentation() {
    return shared(indentation_, [&](uint32_t from, uint32_t to) {
        for (uint32_t i = 0; i < kMaxIndentation; ++i) {
            builder_.empty(from, to);
            const uint32_t next = builder_.add_node();
            builder_.byte(from, ' ', next);
            builder_.byte(from, '\t', next);
            from = next;
        }
        builder_.empty(from, to);
    });
}

void JsonGrammar::blank(uint32_t from, uint32_t to) {
    builder_.empty(from, to);
    builder_.byte(from, ' ', to);
    builder_.bytes_call(from, '\n', '\n', indentation(), to);
}

void JsonGrammar::colon(uint32_t from, uint32_t to) {
    const uint32_t behind = builder_.add_node();
    builder_.byte(from, ':', behind);
    builder_.empty(behind, to);
    builder_.byte(behind, ' ', to);
}

void JsonGrammar::make_tails() {
    tails_[0] = builder_.add_node();
    builder_.node(tails_[0]).accepts = true;
    const auto tail = [&](uint8_t low, uint8_t high, uint32_t to) {
        const uint32_t node = builder_.add_node();
        builder_.bytes(node, low, high, to);
        return node;
    };
    for (int i = 1; i < 4; ++i) tails_[i] = tail(0x80, 0xBF, tails_[i - 1]);
    // No needlessly long forms, no surrogates, nothing above U+10FFFF.
    tail_e0_ = tail(0xA0, 0xBF, tails_[1]);
    tail_ed_ = tail(0x80, 0x9F, tails_[1]);
    tail_f0_ = tail(0x90, 0xBF, tails_[2]);
    tail_f4_ = tail(0x80, 0x8F, tails_[2]);
}

void JsonGrammar::wide(uint32_t from, uint32_t to) {
    if (tails_[0] == kUnmade) make_tails();
    builder_.bytes_call(from, 0xC2, 0xDF, tails_[1], to);
    builder_.bytes_call(from, 0xE0, 0xE0, tail_e0_, to);
    builder_.bytes_call(from, 0xE1, 0xEC, tails_[2], to);
    builder_.bytes_call(from, 0xED, 0xED, tail_ed_, to);
    builder_.bytes_call(from, 0xEE, 0xEF, tails_[2], to);
    builder_.bytes_call(from, 0xF0, 0xF0, tail_f0_, to);
    builder_.bytes_call(from, 0xF1, 0xF3, tails_[3], to);
    builder_.bytes_call(from, 0xF4, 0xF4, tail_f4_, to);
}

uint32_t JsonGrammar::escape_inside() {
    return shared(escape_, [&](uint32_t from, uint32_t to) {
        for (const char c : std::string_view("\"\\/bfnrt")) builder_.byte(from, c, to);
        const auto hex = [&](uint32_t node, std::string_view digits, uint32_t next) {
            for (const char c : digits) builder_.byte(node, c, next);
        };
        constexpr std::string_view kHex = "0123456789abcdefABCDEF";
        uint32_t left[4] = {to};  // this many digits to come
        for (int i = 1; i < 4; ++i) hex(left[i] = builder_.add_node(), kHex, left[i - 1]);
        const uint32_t u = builder_.add_node(), d = builder_.add_node();
        builder_.byte(from, 'u', u);
        hex(u, "0123456789abcefABCEF", left[3]);
        hex(u, "dD", d);
        hex(d, "01234567", left[2]);
        // One half of a pair needs the other.
        const uint32_t high = builder_.add_node(), second = builder_.add_node(), pair = builder_.add_node();
        const uint32_t low_u = builder_.add_node(), low_d = builder_.add_node(), low = builder_.add_node();
        hex(d, "89abAB", high);
        hex(high, kHex, second);
        hex(second, kHex, pair);
        builder_.byte(pair, '\\', low_u);
        builder_.byte(low_u, 'u', low_d);
        hex(low_d, "dD", low);
        hex(low, "cdefCDEF", left[2]);
    });
}

uint32_t JsonGrammar::string_inside() {
    if (string_ != kUnmade) return string_;
    const auto count = static_cast<uint32_t>(plain_.states.size());
    string_ = builder_.add_nodes(count);
    const uint32_t end = builder_.add_node();
    builder_.node(end).accepts = true;
    builder_.node(string_).fill = GrammarFill::json_string;
    for (uint32_t state = 0; state < count; ++state) {
        builder_.byte(string_ + state, '"', end);
        string_edges(string_ + state, state, string_);
    }
    return string_;
}

// Of a state of plain_, into a row of nodes for its states.
void JsonGrammar::string_edges(uint32_t from, uint32_t state, uint32_t row) {
    builder_.bytes_call(from, '\\', '\\', escape_inside(), row);
    for (const CharDfa::Edge& edge : plain_.states[state].edges) range_edges(from, edge.range, true, row + edge.target);
}

void JsonGrammar::any_string(uint32_t from, uint32_t to) {
    builder_.bytes_call(from, '"', '"', string_inside(), to);
}

void JsonGrammar::string_of_length(uint32_t from, uint32_t min, uint32_t max, uint32_t to) {
    const bool free = max == kNoMaximum && min == 0;
    if (max != kNoMaximum && place_ == Place::in_call) max = std::max(min, std::min(max, kMaxLengthInCall));
    builder_.bytes_call(from, '"', '"', free ? string_inside() : counted_inside(min, max), to);
}

// For each length a row of nodes: one for each state of plain_, and one behind a quote that closes, which returns only
// where it may. Rows have their edges in common.
uint32_t JsonGrammar::counted_inside(uint32_t min, uint32_t max) {
    const auto [found, fresh] = counted_.emplace(std::pair{min, max}, kUnmade);
    if (!fresh) return found->second;
    const uint32_t count = max == kNoMaximum ? min : max;
    const auto states = static_cast<uint32_t>(plain_.states.size());
    const uint32_t stride = states + 1, rows = found->second = builder_.add_nodes(stride * (count + 1));
    for (uint32_t length = 0; length <= count; ++length) {
        const uint32_t row = rows + stride * length, closed = row + states;
        builder_.node(closed).accepts = length >= min;
        for (uint32_t state = 0; state < states; ++state) {
            const uint32_t node = row + state;
            if (length == count) {
                if (max == kNoMaximum)
                    builder_.call(node, string_inside() + state, closed);
                else
                    builder_.byte(node, '"', closed);
                continue;
            }
            if (state == 0) {
                builder_.node(node).fill = GrammarFill::json_string;
                builder_.node(node).remaining = max == kNoMaximum ? kNoRemainder : max - length;
            }
            if (length > 0) {
                builder_.share_edges(node, rows + state);
                continue;
            }
            builder_.byte(node, '"', closed);
            string_edges(node, state, row + stride);
        }
    }
    return rows;
}

void JsonGrammar::utf8_edges(uint32_t from, uint32_t low, uint32_t high, uint32_t to) {
    // Cut where the number of bytes changes, and where the bytes behind the first stop taking every value.
    for (const uint32_t last : {kMaxAscii, 0x7FFu, 0xFFFFu})
        if (low <= last && last < high) {
            utf8_edges(from, low, last, to);
            return utf8_edges(from, last + 1, high, to);
        }
    if (high <= kMaxAscii) return builder_.bytes(from, byte_of(low), byte_of(high), to);
    const int length = high <= 0x7FF ? 2 : high <= 0xFFFF ? 3 : 4;
    for (int i = 1; i < length; ++i) {
        const uint32_t rest = (1u << (6 * i)) - 1;
        if ((low & ~rest) == (high & ~rest)) continue;
        if ((low & rest) != 0) {
            utf8_edges(from, low, low | rest, to);
            return utf8_edges(from, (low | rest) + 1, high, to);
        }
        if ((high & rest) != rest) {
            utf8_edges(from, low, (high & ~rest) - 1, to);
            return utf8_edges(from, high & ~rest, high, to);
        }
    }
    for (int i = length - 1; i >= 0; --i) {
        const uint32_t lead = i < length - 1 ? 0x80u : length == 2 ? 0xC0u : length == 3 ? 0xE0u : 0xF0u;
        const uint32_t mask = i < length - 1 ? 0x3Fu : 0x1Fu;
        const uint32_t next = i == 0 ? to : builder_.add_node();
        builder_.bytes(from, byte_of(lead | (low >> (6 * i) & mask)), byte_of(lead | (high >> (6 * i) & mask)), next);
        from = next;
    }
}

void JsonGrammar::range_edges(uint32_t from, CharRange range, bool quoted, uint32_t to) {
    if (range.low <= kMaxAscii + 1 && range.high == kMaxCodePoint) {
        wide(from, to);
        if (range.low > kMaxAscii) return;
        range.high = kMaxAscii;
    }
    if (range.low < kSurrogates.low && range.high >= kSurrogates.low) {
        range_edges(from, {range.low, kSurrogates.low - 1}, quoted, to);
        range.low = kSurrogates.low;
    }
    if (range.low >= kSurrogates.low && range.low <= kSurrogates.high) range.low = kSurrogates.high + 1;
    if (range.low > range.high) return;
    if (!quoted) return utf8_edges(from, range.low, range.high, to);
    uint32_t next = std::max<uint32_t>(range.low, ' ');
    for (const uint32_t special : {uint32_t{'"'}, uint32_t{'\\'}}) {
        if (special < range.low || special > range.high) continue;
        if (next < special) utf8_edges(from, next, special - 1, to);
        next = special + 1;
    }
    if (next <= range.high) utf8_edges(from, next, range.high, to);
}

void JsonGrammar::escape_edges(uint32_t from, CharRange range, uint32_t to) {
    for (uint32_t point = range.low; point <= std::min<uint32_t>(range.high, '\\'); ++point)
        if (const char escape = short_escape(point)) builder_.byte(from, escape, to);
}

std::vector<uint32_t> JsonGrammar::automaton_nodes(const CharDfa& automaton, bool quoted) {
    const uint32_t first = builder_.add_nodes(static_cast<uint32_t>(automaton.states.size()));
    std::vector<uint32_t> nodes(automaton.states.size());
    for (uint32_t i = 0; i < nodes.size(); ++i) nodes[i] = first + i;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
        if (quoted && automaton.is_universal(i)) continue;
        std::optional<uint32_t> escape;
        for (const CharDfa::Edge& edge : automaton.states[i].edges) {
            range_edges(nodes[i], edge.range, quoted, nodes[edge.target]);
            if (!quoted || edge.range.low > '\\') continue;
            if (!escape) builder_.byte(nodes[i], '\\', *(escape = builder_.add_node()));
            escape_edges(*escape, edge.range, nodes[edge.target]);
        }
    }
    return nodes;
}

std::vector<uint32_t> JsonGrammar::text(const CharDfa& automaton) {
    return automaton_nodes(automaton, false);
}

void JsonGrammar::string(uint32_t from, const CharDfa& strings, std::string_view what, uint32_t to) {
    const CharDfa automaton = place_ == Place::in_call ? intersect(strings, plain_, what) : strings;
    const std::vector<uint32_t> nodes = automaton_nodes(automaton, true);
    const std::vector<bool> filling = filling_states(automaton);
    builder_.byte(from, '"', nodes[0]);
    for (uint32_t i = 0; i < nodes.size(); ++i) {
        if (filling[i] && !automaton.is_universal(i)) builder_.node(nodes[i]).fill = GrammarFill::json_string;
        if (automaton.is_universal(i))
            builder_.call(nodes[i], string_inside(), to);
        else if (automaton.states[i].accepts)
            builder_.byte(nodes[i], '"', to);
    }
}

void JsonGrammar::number(uint32_t from, uint32_t to) {
    builder_.call(from,
                  shared(number_,
                         [&](uint32_t first, uint32_t last) {
                             const CharDfa automaton = compile_pattern(kNumber, "a number");
                             const std::vector<uint32_t> nodes = text(automaton);
                             builder_.empty(first, nodes[0]);
                             for (uint32_t i = 0; i < nodes.size(); ++i)
                                 if (automaton.states[i].accepts) builder_.empty(nodes[i], last);
                         }),
                  to);
}

void JsonGrammar::integer(uint32_t from, const std::optional<CharDfa>& range, uint32_t to) {
    const auto make = [&](uint32_t first, const CharDfa& automaton, uint32_t last) {
        const std::vector<uint32_t> nodes = text(automaton);
        builder_.empty(first, nodes[0]);
        for (uint32_t i = 0; i < nodes.size(); ++i)
            if (automaton.states[i].accepts) builder_.empty(nodes[i], last);
    };
    if (range) return make(from, *range, to);
    builder_.call(from,
                  shared(integer_,
                         [&](uint32_t first, uint32_t last) {
                             make(first, integers_between(INT64_MIN, INT64_MAX, 1, "an integer"), last);
                         }),
                  to);
}

uint32_t JsonGrammar::value() {
    return shared(value_, [&](uint32_t from, uint32_t to) {
        any_string(from, to);
        any_object(from, to);
        any_array(from, to);
        boolean(from, to);
        null(from, to);
        number(from, to);
    });
}

void JsonGrammar::any_value(uint32_t from, uint32_t to) {
    builder_.call(from, value(), to);
}

uint32_t JsonGrammar::object_inside() {
    return shared(object_, [&](uint32_t from, uint32_t to) {
        const uint32_t first = builder_.add_node(), key = builder_.add_node(), named = builder_.add_node(),
                       colon_end = builder_.add_node(), written = builder_.add_node(), close = builder_.add_node(),
                       comma = builder_.add_node();
        blank(from, first);
        builder_.byte(first, '}', to);
        builder_.empty(first, key);
        any_string(key, named);
        colon(named, colon_end);
        builder_.call(colon_end, value_, written);
        builder_.byte(written, ',', comma);
        blank(comma, key);
        blank(written, close);
        builder_.byte(close, '}', to);
    });
}

uint32_t JsonGrammar::array_inside() {
    return shared(array_, [&](uint32_t from, uint32_t to) {
        const uint32_t first = builder_.add_node(), item = builder_.add_node(), written = builder_.add_node(),
                       close = builder_.add_node(), comma = builder_.add_node();
        blank(from, first);
        builder_.byte(first, ']', to);
        builder_.empty(first, item);
        builder_.call(item, value_, written);
        builder_.byte(written, ',', comma);
        blank(comma, item);
        blank(written, close);
        builder_.byte(close, ']', to);
    });
}

void JsonGrammar::any_object(uint32_t from, uint32_t to) {
    value();
    builder_.nest(from, '{', object_inside(), to);
}

void JsonGrammar::any_array(uint32_t from, uint32_t to) {
    value();
    builder_.nest(from, '[', array_inside(), to);
}

void JsonGrammar::constant(uint32_t from, const nlohmann::ordered_json& value, uint32_t to) {
    if (!value.is_structured() || value.empty()) return builder_.literal(from, written(value), to);
    const bool object = value.is_object();
    const uint32_t inside = builder_.add_node(), end = builder_.add_node();
    builder_.node(end).accepts = true;
    builder_.nest(from, object ? '{' : '[', inside, to);
    uint32_t at = inside;
    for (auto item = value.begin(); item != value.end(); ++item) {
        uint32_t begin = builder_.add_node();
        if (item != value.begin()) {
            const uint32_t comma = builder_.add_node();
            builder_.byte(at, ',', comma);
            at = comma;
        }
        blank(at, begin);
        if (object) {
            const uint32_t named = builder_.add_node(), behind = builder_.add_node();
            key(begin, item.key(), named);
            colon(named, behind);
            begin = behind;
        }
        at = builder_.add_node();
        constant(begin, *item, at);
    }
    const uint32_t close = builder_.add_node();
    blank(at, close);
    builder_.byte(close, object ? '}' : ']', end);
}

}  // namespace colugo
