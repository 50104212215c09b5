// The syntax of regular expressions (pattern.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sampling/char_automaton.h"

namespace colugo {

// Part of a pattern; `parts` are indices into PatternParser::nodes().
struct PatternNode {
    enum class Kind : uint8_t { characters, sequence, alternatives, repeat };
    Kind kind = Kind::sequence;
    CharSet set = {};                  // characters
    std::vector<uint32_t> parts = {};  // of the others; of a repeat, one
    uint32_t min = 0, max = 0;         // repeat; kNoMaximum: no limit
};

struct PatternAlternative {
    bool at_begin = false, at_end = false;  // anchored
    uint32_t node = 0;
};

class PatternParser {
 public:
    static constexpr int kMaxGroups = 50;  // nested
    static constexpr uint32_t kMaxRepeat = 1000;

    // Throws invalid_argument for what is not supported, naming it.
    PatternParser(std::string_view pattern, std::string_view what);

    const std::vector<PatternNode>& nodes() const { return nodes_; }
    const std::vector<PatternAlternative>& alternatives() const { return alternatives_; }

 private:
    template <typename... Args>
    [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const;
    bool at_end() const { return position_ == text_.size(); }
    uint32_t peek() const { return at_end() ? 0 : text_[position_]; }
    bool take(char c);
    uint32_t add(PatternNode node);

    PatternAlternative alternative();
    uint32_t sequence(int depth);
    uint32_t group(int depth);
    uint32_t atom(int depth);
    uint32_t quantified(uint32_t node);
    bool bounds(uint32_t& min, uint32_t& max);
    uint32_t number();
    uint32_t characters(CharSet set);
    CharSet char_class();
    uint32_t class_member(CharSet& set, bool& shorthand);
    CharSet escape(bool& shorthand);
    uint32_t hex(int digits);

    std::vector<uint32_t> text_;  // code points
    std::string what_;
    size_t position_ = 0;
    std::vector<PatternNode> nodes_;
    std::vector<PatternAlternative> alternatives_;
};

}  // namespace colugo
