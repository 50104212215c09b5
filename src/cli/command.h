// What every subcommand gives main: its options are in the parser, and this runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

namespace colugo {

enum class Outcome {
    success,
    failed,       // it ran, and its finding is bad
    interrupted,  // by Ctrl-C
};

struct Command {
    CLI::App* app;
    std::function<Outcome()> execute;
};

Command add_run_command(CLI::App& root);
Command add_chat_command(CLI::App& root);
Command add_serve_command(CLI::App& root);
Command add_quantize_command(CLI::App& root);
Command add_eval_command(CLI::App& root);
Command add_bench_command(CLI::App& root);
Command add_inspect_command(CLI::App& root);
Command add_doctor_command(CLI::App& root);
// These two show the options of `root`, which has to last.
Command add_man_command(CLI::App& root);
Command add_completion_command(CLI::App& root);

}  // namespace colugo
