// A name for the numbers of a model's weights, as they are multiplied: equal weights have equal names, however the
// files are called or cut.
#pragma once

#include <string>

#include "checkpoint/weights.h"

namespace colugo {

// 32 hexadecimal digits (XXH3-128) of every weight in memory, scales and storage types included. Reads all of them
// once.
std::string weights_fingerprint(const ModelWeights& weights);

}  // namespace colugo
