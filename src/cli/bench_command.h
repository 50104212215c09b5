// The commands of `colugo bench`.
#pragma once

#include "cli/command.h"

namespace colugo {

Command add_bench_agentic_command(CLI::App& bench);
Command add_bench_compare_command(CLI::App& bench);
Command add_bench_decode_command(CLI::App& bench);
Command add_bench_prefill_command(CLI::App& bench);
Command add_bench_cache_command(CLI::App& bench);

}  // namespace colugo
