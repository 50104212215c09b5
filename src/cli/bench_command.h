// The commands of `colugo bench`.
#pragma once

#include "cli/command.h"

namespace colugo {

Command add_bench_agentic_command(CLI::App& bench);

}  // namespace colugo
