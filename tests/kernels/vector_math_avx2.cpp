#include "kernels/generic/vec_avx2.h"
#include "kernels/vector_math_probe.h"
#include "kernels/vector_math_probe.inl"

namespace colugo::kernels::avx2 {

VectorMathProbe vector_math() {
    return vector_math_probe<Vec>();
}

}  // namespace colugo::kernels::avx2
