#include "cli/settings.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace colugo {

namespace {

bool set_in_environment(const CLI::Option& option) {
    if (option.get_envname().empty()) return false;
    const char* value = std::getenv(option.get_envname().c_str());
    return value != nullptr && *value != '\0';
}

// CLI11 reads the file before the environment and keeps what comes first, so an option that the environment sets is
// taken out of the file.
class FileBelowEnvironment : public CLI::ConfigTOML {
 public:
    explicit FileBelowEnvironment(const CLI::App& root) : root_(root) {}

    std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
        std::vector<CLI::ConfigItem> settings = CLI::ConfigTOML::from_config(input);
        std::erase_if(settings, [this](const CLI::ConfigItem& item) {
            if (item.name == "++" || item.name == "--") return false;  // a table begins or ends
            const CLI::Option* option = find(item);
            if (option == nullptr) {
                throw CLI::ValidationError("--config", "the file sets " + item.fullname() + ", which is no option");
            }
            return set_in_environment(*option);
        });
        return settings;
    }

 private:
    const CLI::Option* find(const CLI::ConfigItem& item) const {
        const CLI::App* app = &root_;
        for (const std::string& parent : item.parents) {
            const auto subcommands = app->get_subcommands([&](const CLI::App* sub) { return sub->check_name(parent); });
            if (subcommands.empty()) return nullptr;
            app = subcommands.front();
        }
        return app->get_option_no_throw("--" + item.name);
    }

    const CLI::App& root_;
};

}  // namespace

void add_settings_sources(CLI::App& root) {
    for (CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
        for (CLI::Option* option : command->get_options()) {
            if (option->get_lnames().empty() || option == command->get_help_ptr()) continue;
            std::string name = "COLUGO_" + option->get_lnames().front();
            std::transform(name.begin(), name.end(), name.begin(),
                           [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
            option->envname(name);
        }
        command->fallthrough();  // --config may follow the command
    }
    // CLI11 looks for the file before it looks at the environment.
    const char* file = std::getenv("COLUGO_CONFIG");
    const bool given = file != nullptr && *file != '\0';
    root.set_config("--config", given ? file : "",
                    "Read options from a TOML file with a table for each command (Env:COLUGO_CONFIG)", given);
    root.config_formatter(std::make_shared<FileBelowEnvironment>(root));
}

}  // namespace colugo
