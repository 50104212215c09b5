#include "cli/unknown_argument.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/nearest_name.h"

namespace colugo {

namespace {

std::string unknown_command(const CLI::App& group, const std::string& name) {
    const std::set<std::string> names = command_names(group);
    const std::string sentence = fmt::format("{} is no command of {}", name, whole_name(group));
    if (const auto nearest = nearest_name(name, names)) return fmt::format("{}, {} is", sentence, *nearest);
    return fmt::format("{}; there are {}", sentence, fmt::join(names, ", "));
}

}  // namespace

std::string whole_name(const CLI::App& command) {
    if (command.get_parent() == nullptr) return command.get_name();
    return whole_name(*command.get_parent()) + " " + command.get_name();
}

const CLI::App& given_command(const CLI::App& app) {
    const std::vector<CLI::App*> given = app.get_subcommands();
    return given.empty() ? app : given_command(*given.front());
}

std::string unknown_flag(const CLI::App& command, const std::string& flag) {
    const std::string sentence = fmt::format("{} is no flag of {}", flag, whole_name(command));
    if (!flag.starts_with("--")) return sentence;
    const auto nearest = nearest_name(flag.substr(2, flag.find('=') - 2), option_names(command, false));
    return nearest ? fmt::format("{}, --{} is", sentence, *nearest) : sentence;
}

std::string unknown_argument(const CLI::App& root) {
    const std::vector<std::string> left = root.remaining(true);
    if (left.empty()) return {};
    const CLI::App& command = given_command(root);
    const bool is_group = !command_names(command).empty();
    if (is_group && !left.front().starts_with('-')) return unknown_command(command, left.front());
    const auto flag = std::find_if(left.begin(), left.end(), [](const auto& word) { return word.starts_with('-'); });
    if (flag != left.end()) return unknown_flag(command, *flag);
    return fmt::format("{} is one argument too many for {}", left.front(), whole_name(command));
}

}  // namespace colugo
