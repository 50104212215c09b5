#include "kernels/avx512/vec.h"
#include "kernels/vector_math_probe.h"
#include "kernels/vector_math_probe.inl"

namespace colugo::kernels::avx512 {

VectorMathProbe vector_math() {
    return vector_math_probe<Vec>();
}

}  // namespace colugo::kernels::avx512
