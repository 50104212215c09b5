// Where an option's value may come from: the command line, else an environment variable COLUGO_<NAME>, else a TOML
// file with a table per subcommand, else its default. One table of options, CLI11's own, serves all of them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace colugo {

// Gives every option of the subcommand among `arguments` its variable, and the root --config, which the help of every
// subcommand shows. Call it when all options are there.
void add_settings_sources(CLI::App& root, const std::vector<std::string>& arguments);

}  // namespace colugo
