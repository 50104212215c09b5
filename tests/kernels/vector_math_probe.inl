#include "kernels/generic/vector_math.h"

namespace colugo::kernels {

template <class V>
VectorMathProbe vector_math_probe() {
    // Each use is a closure of its own, so the function is inlined into its loop.
#define COLUGO_ARRAY_FUNCTION(function)                                                                               \
    [](float* out, const float* x, int n) {                                                                           \
        for_each_vector<V>(n, [&](int i, int count) { store_n(function(load_n<V>(x + i, count)), out + i, count); }); \
    }
    return {COLUGO_ARRAY_FUNCTION(kernels::exp), COLUGO_ARRAY_FUNCTION(kernels::exp2), COLUGO_ARRAY_FUNCTION(sigmoid),
            COLUGO_ARRAY_FUNCTION(silu),         COLUGO_ARRAY_FUNCTION(log1p_unit),    COLUGO_ARRAY_FUNCTION(softplus)};
#undef COLUGO_ARRAY_FUNCTION
}

}  // namespace colugo::kernels
