// generic/vector_math.h over arrays, so that a test can call what each tier makes of it: one source per tier, compiled
// with the tier's flags.
#pragma once

namespace colugo::kernels {

using ArrayFunction = void (*)(float* out, const float* x, int n);

struct VectorMathProbe {
    ArrayFunction exp, exp2, sigmoid, silu, log1p_unit, softplus;
};

namespace scalar {
VectorMathProbe vector_math();
}
namespace avx2 {
VectorMathProbe vector_math();
}
namespace avx512 {
VectorMathProbe vector_math();
}

}  // namespace colugo::kernels
