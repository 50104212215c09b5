// What keeps loops over arrays of vectors in registers. An emulation of the instructions defines both as nothing.
#pragma once

// COLUGO_UNROLL before a loop over an array of vectors: only indices known when compiling let the array live in
// registers, and compilers give up on bodies as long as these. Nothing on the scalar tier, whose vectors are single
// floats: unrolled they would be thousands of instructions. Nor under sanitizers, which make compiling such code take
// minutes.
#if !defined(COLUGO_UNROLL)
#if defined(__AVX2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COLUGO_UNROLL _Pragma("GCC unroll 16")
#else
#define COLUGO_UNROLL
#endif
#endif

// COLUGO_PIN(sum) after a step of a long unrolled sum: it is in its register here. Left alone, compilers move parts of
// the work together whose operands then do not fit.
#if !defined(COLUGO_PIN)
#define COLUGO_PIN(vector) asm("" : "+v"(vector))
#endif
