#include "kernels/generic/vec_scalar.h"
#include "kernels/vector_math_probe.h"
#include "kernels/vector_math_probe.inl"

namespace colugo::kernels::scalar {

VectorMathProbe vector_math() {
    return vector_math_probe<Vec>();
}

}  // namespace colugo::kernels::scalar
