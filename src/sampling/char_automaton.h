// Finite automata over code points: what a string may be, before it is written as bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

// Code points low .. high.
struct CharRange {
    uint32_t low, high;
    friend bool operator==(const CharRange&, const CharRange&) = default;
};
// In ascending order, without overlap.
using CharSet = std::vector<CharRange>;

CharSet normalize(CharSet ranges);  // in any order
CharSet complement(const CharSet& set);

// Reads UTF-8; throws invalid_argument, with `what` as its subject, where it is none.
std::vector<uint32_t> code_points(std::string_view text, std::string_view what);

class CharNfa {
 public:
    static constexpr uint32_t kMaxStates = 20'000;

    // `what`: the subject of the sentence that says the automaton gets too large, an invalid_argument.
    explicit CharNfa(std::string what) : what_(std::move(what)) {}

    uint32_t add_state();
    void add(uint32_t from, CharRange range, uint32_t to) { states_[from].edges.push_back({range, to}); }
    void add(uint32_t from, const CharSet& set, uint32_t to);
    void add_empty(uint32_t from, uint32_t to) { states_[from].empty.push_back(to); }

    // Says of a state that whatever follows is taken: what else is read beside it no longer matters.
    void mark_universal(uint32_t state) { states_[state].universal = true; }

    const std::string& what() const { return what_; }

 private:
    friend class Determinizer;
    struct Edge {
        CharRange range;
        uint32_t target;
    };
    struct State {
        std::vector<Edge> edges;
        std::vector<uint32_t> empty;
        bool universal = false;
    };
    std::vector<State> states_;
    std::string what_;
};

// Deterministic; it begins in state 0.
struct CharDfa {
    static constexpr uint32_t kMaxStates = 20'000;

    struct Edge {
        CharRange range;
        uint32_t target;
    };
    struct State {
        bool accepts = false;
        std::vector<Edge> edges;  // in ascending order, without overlap
    };
    std::vector<State> states;

    // Every string may follow.
    bool is_universal(uint32_t state) const;
    bool is_empty() const;
};

// Both throw invalid_argument where the result, or the work for it, gets too large; `what` is the subject.
CharDfa determinize(const CharNfa& nfa, uint32_t start, uint32_t accept);
CharDfa intersect(const CharDfa& a, const CharDfa& b, std::string_view what);

// Strings of min .. max code points; max kNoMaximum: no limit.
inline constexpr uint32_t kNoMaximum = 0xFFFFFFFF;
CharDfa strings_of_length(uint32_t min, uint32_t max);
// All strings but these.
CharDfa strings_except(const std::vector<std::string>& strings, std::string_view what);
// Strings that contain none of these, which are ASCII, begin with one character and repeat it nowhere.
CharDfa strings_without(std::span<const std::string_view> parts);
// Strings whose first character, if any, is none of these.
CharDfa strings_not_beginning(const CharSet& characters);

}  // namespace colugo
