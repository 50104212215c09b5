#include "sampling/char_automaton.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace colugo {
namespace {

// Members of all sets of states together, and ranges looked at for each.
constexpr size_t kMaxWork = 20'000'000;

[[noreturn]] void fail_too_large(std::string_view what) {
    fail(ErrorCode::invalid_argument, "{} needs too many states", what);
}

}  // namespace

CharSet normalize(CharSet ranges) {
    std::sort(ranges.begin(), ranges.end(), [](CharRange a, CharRange b) { return a.low < b.low; });
    CharSet set;
    for (const CharRange range : ranges) {
        if (!set.empty() && range.low <= set.back().high + 1)
            set.back().high = std::max(set.back().high, range.high);
        else
            set.push_back(range);
    }
    return set;
}

CharSet complement(const CharSet& set) {
    CharSet rest;
    uint32_t next = 0;
    for (const CharRange range : set) {
        if (range.low > next) rest.push_back({next, range.low - 1});
        next = range.high + 1;
    }
    if (next <= kMaxCodePoint) rest.push_back({next, kMaxCodePoint});
    return rest;
}

std::vector<uint32_t> code_points(std::string_view text, std::string_view what) {
    std::vector<uint32_t> points;
    for (size_t i = 0; i < text.size();) {
        const auto lead = static_cast<uint8_t>(text[i]);
        const size_t length = lead < 0x80   ? 1
                              : lead < 0xC2 ? 0
                              : lead < 0xE0 ? 2
                              : lead < 0xF0 ? 3
                              : lead < 0xF5 ? 4
                                            : 0;
        uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
        bool valid = length != 0 && i + length <= text.size();
        for (size_t k = 1; valid && k < length; ++k) {
            const auto byte = static_cast<uint8_t>(text[i + k]);
            valid = (byte & 0xC0) == 0x80;
            point = point << 6 | (byte & 0x3Fu);
        }
        constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
        if (!valid || point < kLeast[length] || point > kMaxCodePoint || (point >= 0xD800 && point <= 0xDFFF))
            fail(ErrorCode::invalid_argument, "{} is not valid UTF-8", what);
        points.push_back(point);
        i += length;
    }
    return points;
}

uint32_t CharNfa::add_state() {
    if (states_.size() == kMaxStates) fail_too_large(what_);
    states_.emplace_back();
    return static_cast<uint32_t>(states_.size()) - 1;
}

void CharNfa::add(uint32_t from, const CharSet& set, uint32_t to) {
    for (const CharRange range : set) add(from, range, to);
}

bool CharDfa::is_universal(uint32_t state) const {
    const State& s = states[state];
    return s.accepts && s.edges.size() == 1 && s.edges[0].target == state &&
           s.edges[0].range == CharRange{0, kMaxCodePoint};
}

bool CharDfa::is_empty() const {
    return std::none_of(states.begin(), states.end(), [](const State& state) { return state.accepts; });
}

// The subset construction.
class Determinizer {
 public:
    Determinizer(const CharNfa& nfa, uint32_t accept) : nfa_(nfa), accept_(accept), seen_(nfa.states_.size()) {}

    CharDfa run(uint32_t start) {
        id_of(closure({start}));
        while (dfa_.states.size() < sets_.size()) {
            const Members members = sets_[dfa_.states.size()]->first;
            CharDfa::State state;
            state.accepts = std::binary_search(members.begin(), members.end(), accept_);
            state.edges = edges_of(members);
            dfa_.states.push_back(std::move(state));
        }
        return std::move(dfa_);
    }

 private:
    using Members = std::vector<uint32_t>;  // states of nfa_, in ascending order

    void spend(size_t work) {
        work_ += work;
        if (work_ > kMaxWork) fail_too_large(nfa_.what());
    }

    // What follows these without a character; what only leads on is left out, so that sets that take the same are
    // equal.
    Members closure(Members members) {
        members = reached_from(std::move(members));
        const auto universal =
            std::find_if(members.begin(), members.end(), [&](uint32_t state) { return nfa_.states_[state].universal; });
        if (universal != members.end()) members = reached_from({*universal});
        std::erase_if(members, [&](uint32_t state) { return state != accept_ && nfa_.states_[state].edges.empty(); });
        std::sort(members.begin(), members.end());
        return members;
    }

    // These, once each, and what follows them without a character.
    Members reached_from(Members members) {
        ++round_;
        std::erase_if(members, [&](uint32_t state) { return std::exchange(seen_[state], round_) == round_; });
        for (size_t i = 0; i < members.size(); ++i) {
            for (const uint32_t next : nfa_.states_[members[i]].empty)
                if (std::exchange(seen_[next], round_) != round_) members.push_back(next);
            spend(1 + nfa_.states_[members[i]].empty.size());
        }
        return members;
    }

    uint32_t id_of(Members members) {
        const auto [found, fresh] = ids_.emplace(std::move(members), static_cast<uint32_t>(sets_.size()));
        if (fresh) {
            if (sets_.size() == CharDfa::kMaxStates) fail_too_large(nfa_.what());
            sets_.push_back(found);
        }
        return found->second;
    }

    std::vector<CharDfa::Edge> edges_of(const Members& members) {
        std::vector<CharNfa::Edge> ranges;
        std::vector<uint32_t> borders;
        for (const uint32_t member : members)
            for (const CharNfa::Edge& edge : nfa_.states_[member].edges) {
                ranges.push_back(edge);
                borders.push_back(edge.range.low);
                borders.push_back(edge.range.high + 1);
            }
        std::sort(borders.begin(), borders.end());
        borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
        std::vector<CharDfa::Edge> edges;
        for (size_t i = 0; i + 1 < borders.size(); ++i) {
            spend(ranges.size());
            Members targets;
            for (const CharNfa::Edge& edge : ranges)
                if (edge.range.low <= borders[i] && borders[i] <= edge.range.high) targets.push_back(edge.target);
            if (targets.empty()) continue;
            const uint32_t target = id_of(closure(std::move(targets)));
            const CharRange range{borders[i], borders[i + 1] - 1};
            if (!edges.empty() && edges.back().target == target && edges.back().range.high + 1 == range.low)
                edges.back().range.high = range.high;
            else
                edges.push_back({range, target});
        }
        return edges;
    }

    const CharNfa& nfa_;
    const uint32_t accept_;
    CharDfa dfa_;
    std::map<Members, uint32_t> ids_;
    std::vector<std::map<Members, uint32_t>::iterator> sets_;  // by id
    std::vector<uint32_t> seen_;                               // [states of nfa_] the round it was last seen in
    uint32_t round_ = 0;
    size_t work_ = 0;
};

CharDfa determinize(const CharNfa& nfa, uint32_t start, uint32_t accept) {
    return Determinizer(nfa, accept).run(start);
}

CharDfa intersect(const CharDfa& a, const CharDfa& b, std::string_view what) {
    CharDfa both;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> ids;
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    const auto id_of = [&](uint32_t left, uint32_t right) {
        const auto [found, fresh] = ids.emplace(std::pair{left, right}, static_cast<uint32_t>(pairs.size()));
        if (fresh) {
            if (pairs.size() == CharDfa::kMaxStates) fail_too_large(what);
            pairs.emplace_back(left, right);
        }
        return found->second;
    };
    id_of(0, 0);
    for (size_t i = 0; i < pairs.size(); ++i) {
        const CharDfa::State& left = a.states[pairs[i].first];
        const CharDfa::State& right = b.states[pairs[i].second];
        CharDfa::State state{left.accepts && right.accepts, {}};
        for (size_t j = 0, k = 0; j < left.edges.size() && k < right.edges.size();) {
            const CharRange l = left.edges[j].range, r = right.edges[k].range;
            const CharRange common{std::max(l.low, r.low), std::min(l.high, r.high)};
            if (common.low <= common.high)
                state.edges.push_back({common, id_of(left.edges[j].target, right.edges[k].target)});
            l.high < r.high ? ++j : ++k;
        }
        both.states.push_back(std::move(state));
    }
    return both;
}

CharDfa strings_of_length(uint32_t min, uint32_t max) {
    CharDfa dfa;
    const uint32_t last = max == kNoMaximum ? min : max;
    dfa.states.resize(last + 1);
    for (uint32_t i = 0; i <= last; ++i) {
        dfa.states[i].accepts = i >= min;
        if (i < last || max == kNoMaximum) dfa.states[i].edges.push_back({{0, kMaxCodePoint}, std::min(i + 1, last)});
    }
    return dfa;
}

CharDfa strings_except(const std::vector<std::string>& strings, std::string_view what) {
    constexpr uint32_t kAny = 1;
    CharDfa dfa;
    dfa.states.resize(2);
    dfa.states[kAny] = {true, {{{0, kMaxCodePoint}, kAny}}};
    dfa.states[0].accepts = true;
    std::vector<std::map<uint32_t, uint32_t>> children(2);  // of each state, by code point
    for (const std::string& string : strings) {
        uint32_t state = 0;
        for (const uint32_t point : code_points(string, what)) {
            const auto [child, fresh] = children[state].emplace(point, static_cast<uint32_t>(children.size()));
            state = child->second;
            if (!fresh) continue;
            if (children.size() == CharDfa::kMaxStates) fail_too_large(what);
            children.emplace_back();
            dfa.states.push_back({true, {}});
        }
        dfa.states[state].accepts = false;
    }
    for (size_t state = 0; state < children.size(); ++state) {
        if (state == kAny) continue;
        uint32_t next = 0;
        for (const auto& [point, child] : children[state]) {
            if (point > next) dfa.states[state].edges.push_back({{next, point - 1}, kAny});
            dfa.states[state].edges.push_back({{point, point}, child});
            next = point + 1;
        }
        if (next <= kMaxCodePoint) dfa.states[state].edges.push_back({{next, kMaxCodePoint}, kAny});
    }
    return dfa;
}

CharDfa strings_without(std::span<const std::string_view> parts) {
    // A state for each beginning of a part that the text ends with, the empty one first.
    std::vector<std::map<uint32_t, uint32_t>> children(1);
    constexpr uint32_t kForbidden = 0;  // which no child is
    for (const std::string_view part : parts) {
        uint32_t state = 0;
        for (const char c : part.substr(0, part.size() - 1)) {
            const auto [child, fresh] =
                children[state].emplace(static_cast<uint8_t>(c), static_cast<uint32_t>(children.size()));
            state = child->second;
            if (fresh) children.emplace_back();
        }
        children[state].emplace(static_cast<uint8_t>(part.back()), kForbidden);
    }
    const auto [first, begun] = *children[0].begin();
    CharDfa dfa;
    for (std::map<uint32_t, uint32_t>& named : children) {
        named.emplace(first, begun);
        CharDfa::State state{true, {}};
        uint32_t next = 0;
        for (const auto& [point, child] : named) {
            if (point > next) state.edges.push_back({{next, point - 1}, 0});
            if (child != kForbidden) state.edges.push_back({{point, point}, child});
            next = point + 1;
        }
        state.edges.push_back({{next, kMaxCodePoint}, 0});
        dfa.states.push_back(std::move(state));
    }
    return dfa;
}

CharDfa strings_not_beginning(const CharSet& characters) {
    CharDfa dfa;
    dfa.states = {{true, {}}, {true, {{{0, kMaxCodePoint}, 1}}}};
    for (const CharRange range : complement(characters)) dfa.states[0].edges.push_back({range, 1});
    return dfa;
}

}  // namespace colugo
