// The amx tier's vector.
#pragma once

#include "kernels/generic/vec_avx512.h"

namespace colugo::kernels::amx {

struct Tag;
using Vec = Vec512<Tag>;

}  // namespace colugo::kernels::amx
