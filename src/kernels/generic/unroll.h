// COLUGO_UNROLL before a loop over an array of vectors: only indices known when compiling let the array live in
// registers, and compilers give up on bodies as long as these. Nothing on the scalar tier, whose vectors are single
// floats: unrolled they would be thousands of instructions.
#pragma once

#if defined(__AVX2__)
#define COLUGO_UNROLL _Pragma("GCC unroll 16")
#else
#define COLUGO_UNROLL
#endif
