#include "cli/settings.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <set>

namespace colugo {

namespace {

bool set_in_environment(const CLI::Option& option) {
    if (option.get_envname().empty()) return false;
    const char* value = std::getenv(option.get_envname().c_str());
    return value != nullptr && *value != '\0';
}

// The value as it would stand on the command line.
std::string setting_text(const toml::node& value, const std::string& name) {
    if (const auto* text = value.as_string()) return text->get();
    if (const auto* number = value.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = value.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* flag = value.as_boolean()) return flag->get() ? "true" : "false";
    throw CLI::ValidationError("--config", "the value of " + name + " is no text, number, true or false");
}

// The file is read by toml++: CLI11's own reader cuts values at '#' and keeps escapes as they are. CLI11 asks for the
// file before it looks at the environment and keeps what comes first, so an option that the environment sets is left
// out.
class FileBelowEnvironment : public CLI::ConfigTOML {
 public:
    explicit FileBelowEnvironment(const CLI::App& root) : root_(root) {}

    std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
        std::vector<CLI::ConfigItem> settings;
        try {
            // Whole first: toml++ asks a stream for its length, which a pipe does not have.
            const std::string text{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
            std::set<const CLI::Option*> set;
            add_table(settings, toml::parse(text), {}, set);
        } catch (const toml::parse_error& error) {
            const toml::source_position at = error.source().begin;
            throw CLI::ValidationError(
                "--config", fmt::format("line {}, column {} of the file: {}", at.line, at.column, error.description()));
        }
        return settings;
    }

 private:
    void add_table(std::vector<CLI::ConfigItem>& settings, const toml::table& table,
                   const std::vector<std::string>& parents, std::set<const CLI::Option*>& set) const {
        for (const auto& [key, value] : table) {
            CLI::ConfigItem item;
            item.parents = parents;
            item.name = std::string(key.str());
            if (const toml::table* inner = value.as_table()) {
                std::vector<std::string> path = parents;
                path.push_back(item.name);
                add_table(settings, *inner, path, set);
                continue;
            }
            const CLI::Option* option = find(item);
            if (option == nullptr || !option->get_configurable()) {
                throw CLI::ValidationError("--config",
                                           "the file sets " + item.fullname() +
                                               ", which is no option of a command's table ([run], then threads = 4)");
            }
            if (!set.insert(option).second) {
                throw CLI::ValidationError("--config", "the file sets " + item.fullname() + " twice, by two names");
            }
            item.inputs = {setting_text(value, item.fullname())};
            // Tables of other commands have to make sense, and no more.
            const bool counts = command_of(item)->parsed() && !set_in_environment(*option);
            if (counts) settings.push_back(std::move(item));
        }
    }

    // nullptr when there is no such command.
    const CLI::App* command_of(const CLI::ConfigItem& item) const {
        const CLI::App* app = &root_;
        for (const std::string& parent : item.parents) {
            const auto subcommands = app->get_subcommands([&](const CLI::App* sub) { return sub->check_name(parent); });
            if (subcommands.empty()) return nullptr;
            app = subcommands.front();
        }
        return app;
    }

    const CLI::Option* find(const CLI::ConfigItem& item) const {
        const CLI::App* app = command_of(item);
        return app == nullptr ? nullptr : app->get_option_no_throw("--" + item.name);
    }

    const CLI::App& root_;
};

// Of the commands below one, and of theirs.
void add_variables(CLI::App& parent, const std::vector<std::string>& arguments) {
    for (CLI::App* command : parent.get_subcommands([](const CLI::App*) { return true; })) {
        command->fallthrough();  // --config may follow the command
        // The parser looks at the variables of every command, given or not.
        if (std::find(arguments.begin(), arguments.end(), command->get_name()) == arguments.end()) continue;
        for (CLI::Option* option : command->get_options()) {
            if (option->get_lnames().empty() || !option->get_configurable()) continue;
            std::string name = "COLUGO_" + option->get_lnames().front();
            std::transform(name.begin(), name.end(), name.begin(),
                           [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
            option->envname(name);
        }
        add_variables(*command, arguments);
    }
}

}  // namespace

void add_settings_sources(CLI::App& root, const std::vector<std::string>& arguments) {
    add_variables(root, arguments);
    // CLI11 looks for the file before it looks at the environment.
    const char* file = std::getenv("COLUGO_CONFIG");
    const bool given = file != nullptr && *file != '\0';
    root.set_config("--config", given ? file : "",
                    "Read options from a TOML file with a table for each command (Env:COLUGO_CONFIG)", given);
    root.config_formatter(std::make_shared<FileBelowEnvironment>(root));
}

}  // namespace colugo
