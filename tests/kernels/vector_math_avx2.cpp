#include "kernels/generic/vec_avx2.h"
#include "kernels/vector_math_probe.h"
#include "kernels/vector_math_probe.inl"

namespace colugo::kernels {

VectorMathProbe vector_math_avx2() {
    return vector_math_probe<avx2::Vec>();
}

}  // namespace colugo::kernels
