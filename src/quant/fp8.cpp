#include "quant/fp8.h"

#include <cmath>

#include "base/error.h"
#include "base/float_formats.h"

namespace colugo {

float fp8_scale(float amax) {
    return amax > 0.0f ? amax / kE4m3Max : 1.0f;
}

int64_t fp8_codes(std::span<uint8_t> codes, std::span<const float> values, float scale) {
    COLUGO_CHECK(codes.size() == values.size());
    int64_t beyond = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        const float value = values[i] / scale;
        codes[i] = f32_to_e4m3(value);
        beyond += std::fabs(value) > kE4m3Max ? 1 : 0;
    }
    return beyond;
}

double fp8_error(std::span<const float> values, std::span<const float> importance, float scale) {
    COLUGO_CHECK(importance.size() == values.size());
    double error = 0.0;
    for (size_t i = 0; i < values.size(); ++i) {
        const float difference = values[i] - e4m3_to_f32(f32_to_e4m3(values[i] / scale)) * scale;
        error += static_cast<double>(difference * difference * importance[i]);
    }
    return error;
}

}  // namespace colugo
