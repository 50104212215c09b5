// A tier's operations against the scalar tier's on the same random inputs, through the backend that a model uses.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel_table.h"

namespace colugo {

struct KernelCheck {
    std::string name;                                       // "matmul nvfp4 w4a4"
    double max_error;                                       // largest difference, as a share of the largest value
    double tolerance;                                       // what the order of fp32 sums can explain
    bool passed() const { return max_error <= tolerance; }  // false for NaN
};

// Every matmul format, attention with every type of key and value, and a Gated DeltaNet layer, over several pages.
std::vector<KernelCheck> check_kernels(kernels::Tier tier);

}  // namespace colugo
