// What a schema says about the size of integers.
#pragma once

#include <cstdint>
#include <optional>

#include "sampling/schema_document.h"

namespace colugo {

struct IntegerBounds {
    int64_t low, high;   // low <= high
    int64_t factor = 1;  // divides them
};

// None: the schema has no keyword for it. Throws invalid_argument where no 64-bit integer is left.
std::optional<IntegerBounds> read_integer_bounds(const SchemaDocument& document, const SchemaPlace& place);

}  // namespace colugo
