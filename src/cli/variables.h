// Environment variables of options: COLUGO_ and the option's long name.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace colugo {

// "COLUGO_CTX_SIZE"; empty where an option is set on the command line only.
std::string setting_variable(const CLI::Option& option);

// All that begin with COLUGO_ and are not empty, with their values.
std::map<std::string, std::string> given_variables();

// Variables that begin with COLUGO_ and set nothing, each with the nearest one that does, where one is near: misspelt
// ones would be ignored in silence. Call it when all options are there.
std::vector<std::string> misspelt_variables(const CLI::App& root);

}  // namespace colugo
