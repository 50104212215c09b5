// Regular expressions of schemas, as automata.
#pragma once

#include <string_view>

#include "sampling/char_automaton.h"

namespace colugo {

// The strings in which the pattern is found. The pattern is the part of ECMA-262 that Python's `re` reads alike:
// characters, classes, '.', alternatives, groups, '*' '+' '?' '{m,n}' (lazy ones too), escapes, and anchors at the ends
// of the whole pattern or of its alternatives. '.' is anything but '\n' '\r' U+2028 U+2029; \d \w \s are ASCII, and so
// is what \D \W \S and a class that excludes one of the six match. Throws invalid_argument for all else and for what
// needs too large an automaton; `what` is the subject of the sentence.
CharDfa compile_pattern(std::string_view pattern, std::string_view what);

}  // namespace colugo
