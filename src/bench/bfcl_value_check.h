// Whether the value of one argument is one of its possible ones.
#pragma once

#include <string>

#include "bench/bfcl_python.h"
#include "bench/bfcl_subsets.h"

namespace colugo::bfcl {

// Why `value` is not right as the parameter's, in one sentence; empty where it is.
// schema: the parameter's property in BFCL's types. answers: its possible values, "" among them saying that it may be
// left out.
std::string value_fault(BfclLanguage language, const std::string& parameter, const Json& schema, const Json& value,
                        const Json& answers);

// Whether a parameter with these possible values may be left out.
bool is_optional(const Json& answers);

}  // namespace colugo::bfcl
