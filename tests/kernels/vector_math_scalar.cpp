#include "kernels/generic/vec_scalar.h"
#include "kernels/vector_math_probe.h"
#include "kernels/vector_math_probe.inl"

namespace colugo::kernels {

VectorMathProbe vector_math_scalar() {
    return vector_math_probe<scalar::Vec>();
}

}  // namespace colugo::kernels
