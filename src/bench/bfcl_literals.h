// The values in Java's and JavaScript's expressions that a model writes as arguments of BFCL's functions for these
// languages. They are not parsed as the languages define them but as bfcl-eval reads them: of an expression that it
// does not know, and of a number in the wrong form, the value is the text itself.
#pragma once

#include <optional>
#include <string_view>

#include "bench/bfcl_python.h"

namespace colugo::bfcl {

// What is longer is taken as text: reading it may take time that grows with the cube of the length.
inline constexpr size_t kMostExpression = 16384;  // bytes

// The type that a parameter's value has; nullopt for names that are no type there.
std::optional<Type> java_type(std::string_view name);
std::optional<Type> javascript_type(std::string_view name);

// The value of `text` as a `type`, which java_type or javascript_type knows; elements: the type of what is in it, empty
// where unknown.
Json java_value(std::string_view text, std::string_view type, std::string_view elements);
Json javascript_value(std::string_view text, std::string_view type, std::string_view elements);

}  // namespace colugo::bfcl
