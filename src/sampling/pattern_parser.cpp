#include "sampling/pattern_parser.h"

#include <utility>

#include "base/error.h"

namespace colugo {
namespace {

constexpr uint32_t kMaxAscii = 0x7F;

bool is_digit(uint32_t c) {
    return c >= '0' && c <= '9';
}

bool is_alphanumeric(uint32_t c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

CharSet without_non_ascii(CharSet set) {
    while (!set.empty() && set.back().low > kMaxAscii) set.pop_back();
    if (!set.empty() && set.back().high > kMaxAscii) set.back().high = kMaxAscii;
    return set;
}

// \d \w \s; engines differ in what beyond ASCII they match.
CharSet shorthand_set(char letter) {
    switch (letter) {
        case 'd':
            return {{'0', '9'}};
        case 'w':
            return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
        default:
            return {{'\t', '\r'}, {' ', ' '}};
    }
}

}  // namespace

template <typename... Args>
void PatternParser::refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::invalid_argument, "{}: {} at character {}", what_, fmt::format(format, std::forward<Args>(args)...),
         position_ + 1);
}

PatternParser::PatternParser(std::string_view pattern, std::string_view what)
    : text_(code_points(pattern, what)), what_(what) {
    do alternatives_.push_back(alternative());
    while (take('|'));
    if (!at_end()) refuse("a ')' without a group");
}

bool PatternParser::take(char c) {
    if (at_end() || peek() != static_cast<uint32_t>(c)) return false;
    ++position_;
    return true;
}

uint32_t PatternParser::add(PatternNode node) {
    nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(nodes_.size()) - 1;
}

PatternAlternative PatternParser::alternative() {
    PatternAlternative result;
    result.at_begin = take('^');
    result.node = sequence(0);
    result.at_end = take('$');
    if (result.at_end && !at_end() && peek() != '|') refuse("an anchor '$' that is not at the end is not supported");
    return result;
}

uint32_t PatternParser::sequence(int depth) {
    PatternNode node{.kind = PatternNode::Kind::sequence};
    while (!at_end() && peek() != '|' && peek() != ')' && !(peek() == '$' && depth == 0))
        node.parts.push_back(quantified(atom(depth)));
    return add(std::move(node));
}

uint32_t PatternParser::group(int depth) {
    if (depth == kMaxGroups) refuse("groups are nested deeper than {}", kMaxGroups);
    if (take('?')) {
        if (take('<')) {
            if (peek() == '=' || peek() == '!') refuse("lookbehind is not supported");
            while (is_alphanumeric(peek()) || peek() == '_') ++position_;
            if (!take('>')) refuse("a group's name has no end");
        } else if (peek() == '=' || peek() == '!') {
            refuse("lookahead is not supported");
        } else if (!take(':')) {
            refuse("this kind of group is not supported");
        }
    }
    PatternNode node{.kind = PatternNode::Kind::alternatives};
    do node.parts.push_back(sequence(depth + 1));
    while (take('|'));
    if (!take(')')) refuse("a group has no end");
    return add(std::move(node));
}

uint32_t PatternParser::characters(CharSet set) {
    return add({.kind = PatternNode::Kind::characters, .set = std::move(set)});
}

uint32_t PatternParser::atom(int depth) {
    bool shorthand = false;
    if (take('(')) return group(depth);
    if (take('[')) return characters(char_class());
    if (take('.')) return characters(complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
    if (take('\\')) return characters(escape(shorthand));
    const uint32_t c = peek();
    if (c == '*' || c == '+' || c == '?' || c == '{') refuse("nothing to repeat");
    if (c == '^' || c == '$') refuse("an anchor '{}' that is not at an end is not supported", static_cast<char>(c));
    if (c == ']' || c == '}') refuse("a '{}' by itself, which has to be escaped", static_cast<char>(c));
    ++position_;
    return characters({{c, c}});
}

uint32_t PatternParser::number() {
    if (!is_digit(peek())) refuse("expected a number");
    uint32_t value = 0;
    for (; is_digit(peek()); ++position_) {
        value = 10 * value + (peek() - '0');
        if (value > kMaxRepeat) refuse("more than {} repetitions", kMaxRepeat);
    }
    return value;
}

// Whether a quantifier stands here, and its bounds.
bool PatternParser::bounds(uint32_t& min, uint32_t& max) {
    min = 0, max = kNoMaximum;
    if (take('*')) return true;
    if (take('+')) return min = 1, true;
    if (take('?')) return max = 1, true;
    if (!take('{')) return false;
    min = max = number();
    if (take(',')) max = peek() == '}' ? kNoMaximum : number();
    if (!take('}')) refuse("a quantifier has no end");
    if (max < min) refuse("a quantifier whose maximum is below its minimum");
    return true;
}

uint32_t PatternParser::quantified(uint32_t node) {
    PatternNode repeat{.kind = PatternNode::Kind::repeat, .parts = {node}};
    if (!bounds(repeat.min, repeat.max)) return node;
    take('?');  // lazy: the same strings
    if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{') refuse("nothing to repeat");
    return add(std::move(repeat));
}

CharSet PatternParser::char_class() {
    const bool negated = take('^');
    CharSet set;
    bool ascii = false;  // it excludes what engines differ in
    if (peek() == ']') refuse("an empty class");
    while (!take(']')) {
        if (at_end()) refuse("a class has no end");
        bool shorthand = false;
        CharSet first = {};
        const uint32_t low = class_member(first, shorthand);
        ascii |= shorthand;
        const bool range = peek() == '-' && position_ + 1 < text_.size() && text_[position_ + 1] != ']';
        if (!range) {
            set.insert(set.end(), first.begin(), first.end());
            continue;
        }
        take('-');
        CharSet last = {};
        bool last_shorthand = false;
        const uint32_t high = class_member(last, last_shorthand);
        if (shorthand || last_shorthand || high < low) refuse("a range in a class that is none");
        set.push_back({low, high});
    }
    set = normalize(std::move(set));
    if (!negated) return set;
    set = complement(set);
    return ascii ? without_non_ascii(std::move(set)) : set;
}

// Adds one member of a class to the set; the code point, where it is one.
uint32_t PatternParser::class_member(CharSet& set, bool& shorthand) {
    if (take('\\')) {
        set = escape(shorthand);
        return set[0].low;
    }
    const uint32_t c = peek();
    ++position_;
    set = {{c, c}};
    return c;
}

uint32_t PatternParser::hex(int digits) {
    uint32_t value = 0;
    for (int i = 0; i < digits; ++i, ++position_) {
        const uint32_t c = peek();
        if (is_digit(c))
            value = 16 * value + (c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            value = 16 * value + ((c | 0x20u) - 'a' + 10);
        else
            refuse("expected {} hexadecimal digits", digits);
    }
    if (value >= 0xD800 && value <= 0xDFFF) refuse("an escaped half of a surrogate pair is not supported");
    return value;
}

// Behind a backslash. shorthand: it was one of the six classes.
CharSet PatternParser::escape(bool& shorthand) {
    if (at_end()) refuse("a '\\' at the end");
    const uint32_t c = peek();
    const auto single = [](uint32_t point) { return CharSet{{point, point}}; };
    if (c > kMaxAscii) refuse("an escaped character that needs no escape");
    ++position_;
    switch (c) {
        case 'd':
        case 'w':
        case 's':
            shorthand = true;
            return shorthand_set(static_cast<char>(c));
        case 'D':
        case 'W':
        case 'S':
            shorthand = true;
            return without_non_ascii(complement(shorthand_set(static_cast<char>(c | 0x20u))));
        case 'n':
            return single('\n');
        case 'r':
            return single('\r');
        case 't':
            return single('\t');
        case 'f':
            return single('\f');
        case 'v':
            return single('\v');
        case 'x':
            return single(hex(2));
        case 'u':
            return single(hex(4));
        default:
            break;
    }
    if (c >= '1' && c <= '9') refuse("backreferences are not supported");
    if (is_alphanumeric(c)) refuse("the escape \\{} is not supported", static_cast<char>(c));
    return single(c);
}

}  // namespace colugo
