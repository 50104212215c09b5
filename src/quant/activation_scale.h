// The static scales of activations, keys and values, from what calibration has seen.
#pragma once

#include "base/tensor_view.h"

namespace colugo {

// input_scale of an NVFP4 layer with quantized activations (qwen35.md 7.3). by_amax: as ModelOpt writes it; else the
// candidate from a half of that to all of it with the least squared error on the samples [rows, cols].
float nvfp4_input_scale(TensorView samples, float amax, bool by_amax);
// Scale of keys or values in an FP8 cache (qwen35.md 7.6): 1 where the values fit as they are, unless another is
// clearly better. by_amax: ModelOpt's max(amax / 448, 1).
float fp8_cache_scale(TensorView samples, float amax, bool by_amax);

}  // namespace colugo
