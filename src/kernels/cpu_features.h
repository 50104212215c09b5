// What this CPU, under this operating system, can run.
#pragma once

#include "kernels/kernel_table.h"

namespace colugo::kernels {

// Every instruction the tier is compiled for exists and the operating system saves its registers. For amx the first
// call also asks the system for leave to use the tile registers.
bool cpu_runs(Tier tier);

}  // namespace colugo::kernels
