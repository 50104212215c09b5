// colugo bench: measurements, each a command of this group.
#include "cli/bench_command.h"

#include <vector>

#include "cli/command.h"

namespace colugo {

Command add_bench_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("bench", "Measure a server, or this machine");
    app->require_subcommand(0, 1);
    const std::vector<Command> commands = {add_bench_agentic_command(*app), add_bench_decode_command(*app),
                                           add_bench_prefill_command(*app), add_bench_cache_command(*app),
                                           add_bench_compare_command(*app)};
    return {app, [commands] {
                for (const Command& command : commands) {
                    if (command.app->parsed()) return command.execute();
                }
                throw CLI::RequiredError("A command of bench (agentic, compare, decode, prefill, cache)");
            }};
}

}  // namespace colugo
