// The options of all commands as data: what --help says, for the manual page and the completions of shells.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace colugo {

struct OptionRow {
    std::vector<std::string> names;    // "-c", "--ctx-size"; of a positional argument its one name
    std::string value;                 // "TEXT", "FILE", "DIR", "INT"; empty: it takes none
    std::string range;                 // "0..65535"; empty: any, or choices
    std::vector<std::string> choices;  // all values there are; empty: any
    std::string standard;              // the default, where there is one to show
    std::string variable;              // COLUGO_...; empty: none
    std::string description;
    bool is_positional = false;
};

// The program itself, a command, or a command of a group of commands.
struct CommandRow {
    std::string name, description;
    std::vector<OptionRow> options;
    std::vector<CommandRow> commands;
};

// Call it when all options are there.
CommandRow option_table(const CLI::App& root);

}  // namespace colugo
