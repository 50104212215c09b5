// Whether a value satisfies a JSON Schema, by the specification's words and without an eye to the compiler.
#pragma once

#include <nlohmann/json.hpp>

namespace colugo::testing {

bool satisfies(const nlohmann::ordered_json& value, const nlohmann::ordered_json& schema,
               const nlohmann::ordered_json& root);

}  // namespace colugo::testing
