// <immintrin.h> for the tiers with 512-bit vectors, without the warnings GCC 12 has about its own AVX-512 functions
// (their "undefined" operands are variables set to themselves; GCC PR 105593).
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
