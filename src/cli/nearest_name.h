// What somebody may have meant.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace colugo {

// The one of `known` that a few changes of characters make of `name`; absent where none is near. `common`: how many
// characters all names begin with, which say nothing.
std::optional<std::string> nearest_name(std::string_view name, const std::set<std::string>& known, size_t common = 0);

// The names of the commands below `app`; and its options' long names, "ctx-size", those alone that may come from a file
// where `configurable` says so.
std::set<std::string> command_names(const CLI::App& app);
std::set<std::string> option_names(const CLI::App& app, bool configurable);

}  // namespace colugo
