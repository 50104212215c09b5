#include "sampling/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/expect_error.h"

namespace colugo {
namespace {

bool matches(const CharDfa& automaton, const std::string& text) {
    uint32_t state = 0;
    for (const uint32_t point : code_points(text, "the text")) {
        const auto& edges = automaton.states[state].edges;
        const auto edge = std::find_if(edges.begin(), edges.end(), [&](const CharDfa::Edge& e) {
            return e.range.low <= point && point <= e.range.high;
        });
        if (edge == edges.end()) return false;
        state = edge->target;
    }
    return automaton.states[state].accepts;
}

void check(const std::string& pattern, const std::vector<std::string>& right, const std::vector<std::string>& wrong) {
    const CharDfa automaton = compile_pattern(pattern, "the pattern");
    for (const std::string& text : right) EXPECT_TRUE(matches(automaton, text)) << pattern << " should match " << text;
    for (const std::string& text : wrong)
        EXPECT_FALSE(matches(automaton, text)) << pattern << " should not match " << text;
}

TEST(Pattern, IsSearchedForUnlessAnchored) {
    check("b+", {"b", "abbc", "b\n"}, {"", "ac"});
    check("^b+", {"b", "bbc"}, {"ab"});
    check("b+$", {"ab"}, {"ba", "b\n"});
    check("^b+$", {"bb"}, {"", "ab", "ba"});
    check("^a|b$", {"ax", "xb"}, {"xa", "bx"});
    check("^(?:a|b)$", {"a", "b"}, {"ab"});
    check("", {"", "anything"}, {});
    check("^$|x", {"", "axb"}, {"a"});
}

TEST(Pattern, KnowsClasses) {
    check("^[a-c_-]$", {"a", "c", "_", "-"}, {"d", "", "ab"});
    check("^[^a-c]$", {"d", "\xC3\xA9", "\n"}, {"a"});
    check("^[\\d\\-x]$", {"5", "-", "x"}, {"d", "\xD9\xA3"});
    check("^[^\\s]$", {"a"}, {" ", "\t", "\xC2\xA0"});
    check("^\\w\\W\\d\\D\\s\\S$", {"a-1a b"}, {"--1a b", "aa1a b"});
    check("^.$", {"a", "\xF0\x9F\x98\x80"}, {"\n", "\r", "\xE2\x80\xA8", "ab"});
}

TEST(Pattern, KnowsEscapes) {
    check("^\\x41\\u00e9\\n\\t\\r\\f\\v\\.\\/\\-\\\\$", {"A\xC3\xA9\n\t\r\f\v./-\\"}, {"A"});
    check("^[\\]\\\\^]$", {"]", "\\", "^"}, {"["});
}

TEST(Pattern, Repeats) {
    check("^(ab){2,3}$", {"abab", "ababab"}, {"ab", "abababab"});
    check("^a{2}$", {"aa"}, {"a", "aaa"});
    check("^a{2,}b??c*?$", {"aa", "aaaab", "aac"}, {"a"});
    check("^(a*)*(b|)+$", {"", "aab"}, {"ba"});
    check("^x{0}y{0,0}z$", {"z"}, {"xz"});
    check("^(?<year>\\d{4})$", {"2024"}, {"202"});
}

TEST(Pattern, NamesWhatItRefuses) {
    const std::vector<std::pair<std::string, std::string>> refused = {
        {"^+[a-z]$", "nothing to repeat at character 2"},
        {"^{2}x$", "nothing to repeat"},
        {"(?<=x)*", "lookbehind"},
        {"(?<!x)", "lookbehind"},
        {"(?=x)", "lookahead"},
        {"(?!x)", "lookahead"},
        {"(a)\\1", "backreferences"},
        {"\\bword", "the escape \\b"},
        {"\\p{L}", "the escape \\p"},
        {"(?i)a", "this kind of group"},
        {"a**", "nothing to repeat"},
        {"a*+", "nothing to repeat"},
        {"*", "nothing to repeat"},
        {"a|*", "nothing to repeat"},
        {"(", "a group has no end"},
        {")", "without a group"},
        {"a)", "without a group"},
        {"(a", "a group has no end"},
        {"[a", "a class has no end"},
        {"[", "a class has no end"},
        {"[]", "an empty class"},
        {"[^]", "an empty class"},
        {"[b-a]", "a range"},
        {"[\\d-z]", "a range"},
        {"[a-\\d]", "a range"},
        {"a{", "expected a number"},
        {"a{,3}", "expected a number"},
        {"a{2", "no end"},
        {"a{3,2}", "below its minimum"},
        {"a{5000}", "more than 1000"},
        {"a}", "escaped"},
        {"a]", "escaped"},
        {"\\", "at the end"},
        {"\\x4", "hexadecimal"},
        {"\\ud800", "surrogate"},
        {"\\u12G4", "hexadecimal"},
        {"a^b", "an anchor '^'"},
        {"a$b", "an anchor '$'"},
        {"(^a)", "an anchor '^'"},
        {"(a$)", "an anchor '$'"},
        {"(?<a", "name has no end"},
        {"\xFF", "UTF-8"},
        {std::string(10'000, '('), "nested deeper than 50"},
        {std::string(60'000, '(') + "a" + std::string(60'000, ')'), "nested deeper than 50"},
        {"(((a{900}){900}){900})", "too many states"},
        {"(a|b)*a(a|b){20}", "too many states"},
        {"(.{0,900}x?){0,900}", "too many states"}};
    for (const auto& [pattern, words] : refused) {
        EXPECT_ERROR(ErrorCode::invalid_argument, words, compile_pattern(pattern, "the pattern"));
        EXPECT_ERROR(ErrorCode::invalid_argument, "the pattern", compile_pattern(pattern, "the pattern"));
    }
}

}  // namespace
}  // namespace colugo
