// Sentences about arguments that no command takes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace colugo {

// "colugo bench agentic".
std::string whole_name(const CLI::App& command);

// The innermost command that was parsed, else `app`.
const CLI::App& given_command(const CLI::App& app);

// "--tempp is no flag of colugo run, --temp is".
std::string unknown_flag(const CLI::App& command, const std::string& flag);

// Of all that was left over when `root` was parsed, about the first flag, else the first command or value; the others
// may have been a flag's value. Empty where nothing was.
std::string unknown_argument(const CLI::App& root);

}  // namespace colugo
