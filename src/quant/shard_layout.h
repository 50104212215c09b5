// Where every byte of a checkpoint lies, known before the first one is computed: tensors in shards, headers, index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quant/output_tensor.h"

namespace colugo {

inline constexpr const char* kShardIndexName = "model.safetensors.index.json";

struct Shard {
    std::string name;    // of the file
    std::string header;  // the file's first bytes: 8 of length, then JSON padded to kShardAlignment
    uint64_t bytes = 0;  // of the whole file
};

struct TensorPlace {
    size_t shard = 0;
    uint64_t offset = 0;  // bytes from the beginning of the shard's file
    uint64_t length = 0;  // bytes
};

struct ShardLayout {
    std::vector<Shard> shards;  // at least one
    std::map<std::string, TensorPlace, std::less<>> tensors;
    std::string index;  // the text of kShardIndexName; empty for one shard, which needs none
};

// A multiple of every element's size, so that a tensor can be used where it is mapped.
inline constexpr uint64_t kShardAlignment = 64;  // bytes

// Fills shards in the given order with at most `shard_bytes` of tensor data each; a tensor beyond that is alone in its
// shard. Inside a shard wide elements come first, otherwise in the given order: the format allows no gaps, and readers
// that view a mapped file (PyTorch's) refuse a tensor that does not begin at a multiple of its element's size.
// One shard is model.safetensors, several are model-00001-of-0000N.safetensors. Throws unsupported for a header beyond
// what readers take. Names must differ.
ShardLayout lay_out_shards(std::span<const OutputTensor> tensors, uint64_t shard_bytes);

}  // namespace colugo
