// The avx512 tier's vector.
#pragma once

#include "kernels/generic/vec_avx512.h"

namespace colugo::kernels::avx512 {

struct Tag;
using Vec = Vec512<Tag>;

}  // namespace colugo::kernels::avx512
