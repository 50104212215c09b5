// Completions of commands, options and their values, as a script for a shell.
#pragma once

#include <string>

#include "cli/option_table.h"

namespace colugo {

std::string bash_completion(const CommandRow& table);
std::string zsh_completion(const CommandRow& table);
std::string fish_completion(const CommandRow& table);

}  // namespace colugo
