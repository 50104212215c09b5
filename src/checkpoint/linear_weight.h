// One linear layer's weight in memory, as the kernels read it, and how it gets there from the files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint_files.h"
#include "kernels/packed_weight.h"

namespace colugo {

// How a module is stored in the files and meant to be multiplied.
enum class WeightScheme : uint8_t {
    f32,
    f16,
    bf16,
    fp8,              // static activation scale
    fp8_weight_only,  // no activation scale in the files
    fp8_block128,
    nvfp4_w4a4,
    nvfp4_w4a16,
};

std::string_view weight_scheme_name(WeightScheme scheme);

struct LinearWeight {
    Buffer storage;                // the panels, then the block scales where there are some
    kernels::PackedWeight packed;  // y = x W': n outputs, k inputs; points into storage
};

// A linear layer's tensors, found and checked; nothing but headers has been read.
struct LinearPlan {
    std::string name;  // the module's, in the files
    WeightScheme scheme = WeightScheme::bf16;
    kernels::WeightFormat format = kernels::WeightFormat::bf16;
    kernels::ActivationFormat activation = kernels::ActivationFormat::bf16;
    int n = 0;
    int k = 0;
    StoredTensor weight;        // values or codes, [n, k] or [n, k / 2]
    StoredTensor block_scales;  // nvfp4: [n, k / 16] e4m3; fp8_block128: [ceil(n / 128), ceil(k / 128)]
    StoredTensor weight_scale;  // scalar, of the whole tensor: nvfp4, fp8
    StoredTensor input_scale;   // scalar: fp8, nvfp4_w4a4
    bool reciprocal = false;    // the two scalars are 1 / scale (compressed-tensors)

    uint64_t file_bytes() const;    // of the tensors that are read
    uint64_t packed_bytes() const;  // of storage
};

// Packs panel by panel from the mapped file, in parallel, and gives the mapped pages back as it goes: memory grows by
// packed_bytes() and a few panels. Throws invalid_file naming the tensor: a weight or scale that is not finite, a scale
// that is not positive; resource_exhausted.
LinearWeight pack_linear(const LinearPlan& plan, ThreadPool& threads);

// A scalar tensor's value. Throws invalid_file unless it is finite and above 0.
float read_scale(const StoredTensor& tensor);
// Throws invalid_file unless all of these bytes of a float tensor are finite values; other tensors pass.
void require_finite(const StoredTensor& tensor, uint64_t offset, uint64_t bytes);
// Any float tensor as f32. Throws invalid_file unless all values are finite.
std::vector<float> read_floats(const StoredTensor& tensor);
// Its values from `first` on, as many as `out` holds. The mapped pages stay.
void read_floats(std::span<float> out, const StoredTensor& tensor, uint64_t first);

}  // namespace colugo
