#include "cli/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include "cli/nearest_name.h"
#include "cli/variables.h"

namespace colugo {

namespace {

bool set_in_environment(const CLI::Option& option) {
    if (option.get_envname().empty()) return false;
    const char* value = std::getenv(option.get_envname().c_str());
    return value != nullptr && *value != '\0';
}

// Of two options that exclude each other, a variable does not count beside one that stands on the command line, nor a
// file's setting beside that or a variable. `stands`: whether an option does so above.
template <typename Stands>
bool yields(const CLI::Option& option, const Stands& stands) {
    const std::set<CLI::Option*> others = option.get_excludes();
    return std::any_of(others.begin(), others.end(), [&](const CLI::Option* other) { return stands(*other); });
}

// Whether it stands among the arguments before "--", by any of its names.
bool is_typed(const CLI::Option& option, const std::vector<std::string>& arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    return std::any_of(arguments.begin(), end, [&](const std::string& argument) {
        if (!argument.starts_with("--")) {
            return argument.size() > 1 && argument[0] == '-' && option.check_sname(argument.substr(1, 1));
        }
        return option.check_lname(argument.substr(2, argument.find('=') - 2));
    });
}

// The value as it would stand on the command line.
std::string setting_text(const toml::node& value, const std::string& name) {
    if (const auto* text = value.as_string()) return text->get();
    if (const auto* number = value.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = value.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* flag = value.as_boolean()) return flag->get() ? "true" : "false";
    throw CLI::ValidationError(name, "the value is no text, number, true or false");
}

// An array is several values of an option that takes several.
std::vector<std::string> setting_texts(const toml::node& value, const CLI::Option& option, const std::string& name) {
    const toml::array* const list = value.as_array();
    if (list == nullptr || option.get_items_expected_max() <= 1) return {setting_text(value, name)};
    std::vector<std::string> texts;
    for (const toml::node& element : *list) texts.push_back(setting_text(element, name));
    return texts;
}

// The file is read by toml++: CLI11's own reader cuts values at '#' and keeps escapes as they are. CLI11 asks for the
// file before it looks at the environment and keeps what comes first, so an option that the environment sets is left
// out.
class FileBelowEnvironment : public CLI::ConfigTOML {
 public:
    explicit FileBelowEnvironment(const CLI::App& root) : root_(root) {}

    std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
        const auto file = root_.get_config_ptr()->as<std::string>();
        std::vector<CLI::ConfigItem> settings;
        try {
            // Whole first: toml++ asks a stream for its length, which a pipe does not have.
            const std::string text{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
            std::set<const CLI::Option*> set;
            add_table(settings, toml::parse(text), {}, set);
        } catch (const toml::parse_error& error) {
            const toml::source_position at = error.source().begin;
            throw CLI::ValidationError(file,
                                       fmt::format("line {}, column {}: {}", at.line, at.column, error.description()));
        } catch (const CLI::ValidationError& error) {
            throw CLI::ValidationError(file, error.what());
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
            if (option == nullptr || !option->get_configurable()) refuse(item);
            if (!set.insert(option).second) throw CLI::ValidationError(item.fullname(), "set twice, by two names");
            item.inputs = setting_texts(value, *option, item.fullname());
            // Tables of other commands have to make sense, and no more.
            const bool counts = command_of(item)->parsed() && !stands_above(*option) && !yields(*option, stands_above);
            if (counts) settings.push_back(std::move(item));
        }
    }

    // On the command line, which is all that has been read so far, or in the environment.
    static bool stands_above(const CLI::Option& option) { return option.count() > 0 || set_in_environment(option); }

    [[noreturn]] void refuse(const CLI::ConfigItem& item) const {
        if (item.parents.empty()) {
            throw CLI::ValidationError(item.name, "stands in no command's table, such as [serve] or [bench.agentic]");
        }
        const std::string table = fmt::format("{}", fmt::join(item.parents, "."));
        const CLI::App* const command = command_of(item);
        if (command == nullptr) {
            throw CLI::ValidationError(item.fullname(), fmt::format("there is no command for a table [{}]; expected "
                                                                    "one such as [serve] or [bench.agentic]",
                                                                    table));
        }
        const auto nearest = nearest_name(item.name, option_names(*command, true));
        throw CLI::ValidationError(item.fullname(), fmt::format("no setting of the table [{}]{}", table,
                                                                nearest ? fmt::format("; {} is", *nearest) : ""));
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

// --config is the program's, and may stand behind a command: its help names it too.
class HelpWithConfig : public CLI::Formatter {
 public:
    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
        const CLI::App* root = app;
        while (root->get_parent() != nullptr) root = root->get_parent();
        const std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
        const std::string config = make_option(root->get_config_ptr(), false);
        // In a group of commands their list is the end.
        const size_t end = std::min(help.find("\n\nSubcommands:"), help.find_last_not_of('\n') + 1);
        return help.substr(0, end) + "\n" + config + help.substr(end + 1);
    }
};

// Of the commands below one, and of theirs.
void add_variables(CLI::App& parent, const std::vector<std::string>& arguments) {
    for (CLI::App* command : parent.get_subcommands([](const CLI::App*) { return true; })) {
        command->fallthrough();  // --config may follow the command
        command->formatter(std::make_shared<HelpWithConfig>());
        // The parser looks at the variables of every command, given or not.
        if (std::find(arguments.begin(), arguments.end(), command->get_name()) == arguments.end()) continue;
        for (CLI::Option* option : command->get_options()) {
            if (yields(*option, [&](const CLI::Option& other) { return is_typed(other, arguments); })) continue;
            if (const std::string name = setting_variable(*option); !name.empty()) option->envname(name);
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
                    "Read options from a TOML file with a table for each command (Env:COLUGO_CONFIG)", given)
        ->type_name("FILE");
    root.config_formatter(std::make_shared<FileBelowEnvironment>(root));
}

}  // namespace colugo
