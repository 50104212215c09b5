// A tensor of the checkpoint being written: everything about it but its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/float_formats.h"

namespace colugo {

struct OutputTensor {
    std::string name;  // as it will stand in the file
    DType dtype = DType::f32;
    std::vector<int64_t> shape;  // empty: a scalar

    // What it takes in the file. Shapes come from checked files: a product beyond 63 bits is a fault of ours.
    uint64_t bytes() const {
        uint64_t product = dtype_size(dtype);
        for (const int64_t size : shape) {
            COLUGO_CHECK(size >= 0 && !__builtin_mul_overflow(product, static_cast<uint64_t>(size), &product));
        }
        COLUGO_CHECK(product <= static_cast<uint64_t>(INT64_MAX));
        return product;
    }
};

}  // namespace colugo
