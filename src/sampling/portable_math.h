// Logarithm and exponential made of IEEE additions, multiplications and divisions only. The C library's differ in the
// last bit between versions and between processors, and a drawn token must not.
#pragma once

namespace colugo {

// Natural logarithm of a positive, finite, normal number; relative error below 1e-15.
double portable_log(double x);

// e^x for x <= 0; relative error below 1e-14, and 0 below -700.
double portable_exp(double x);

}  // namespace colugo
