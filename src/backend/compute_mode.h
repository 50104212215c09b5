// The numerics a launch chooses; part of the key every cached state is bound to (docs/architecture.md, "The row law").
#pragma once

#include <cstdint>

namespace colugo {

// What is stored between operations that a later row, or a multiplier, reads. bf16: matmul inputs, conv inputs and the
// pending hidden are rounded to bf16. f32: nothing is rounded, the mode in which parity with a reference is exact.
enum class ComputeMode : uint8_t { bf16, f32 };

}  // namespace colugo
