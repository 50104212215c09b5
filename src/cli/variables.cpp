#include "cli/variables.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "cli/nearest_name.h"

namespace colugo {

namespace {

constexpr std::string_view kVariablePrefix = "COLUGO_";
// Read without an option.
constexpr std::array kOtherSettings = {"COLUGO_CONFIG", "COLUGO_FORCE_ISA"};
// Read by the scripts and tests of the source tree, which run the program.
constexpr std::array kOfTheSourceTree = {"COLUGO_BUILD_DIR",    "COLUGO_DEBIAN_MIRROR",  "COLUGO_SCREENSHOT",
                                         "COLUGO_LOAD_SECONDS", "COLUGO_NANO",           "COLUGO_OPENAI_CLIENT",
                                         "COLUGO_PYTHON",       "COLUGO_QWEN_TOKENIZER", "COLUGO_SHARED",
                                         "COLUGO_SPEC_MODEL",   "COLUGO_SPEC_TURNS"};

std::string with_nearest(const std::string& name, const std::set<std::string>& known) {
    const std::optional<std::string> nearest = nearest_name(name, known, kVariablePrefix.size());
    return nearest ? fmt::format("{} ({} does)", name, *nearest) : name;
}

void add_known_variables(const CLI::App& parent, std::set<std::string>& known) {
    for (const CLI::App* command : parent.get_subcommands([](const CLI::App*) { return true; })) {
        for (const CLI::Option* option : command->get_options()) known.insert(setting_variable(*option));
        add_known_variables(*command, known);
    }
}

}  // namespace

std::string setting_variable(const CLI::Option& option) {
    if (option.get_lnames().empty() || !option.get_configurable()) return {};
    std::string name = std::string(kVariablePrefix) + option.get_lnames().front();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    return name;
}

std::map<std::string, std::string> given_variables() {
    std::map<std::string, std::string> given;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view whole = *variable;
        const size_t mark = whole.find('=');
        if (!whole.starts_with(kVariablePrefix) || mark == whole.npos || mark + 1 == whole.size()) continue;
        given.emplace(whole.substr(0, mark), whole.substr(mark + 1));
    }
    return given;
}

std::vector<std::string> misspelt_variables(const CLI::App& root) {
    std::set<std::string> known(kOtherSettings.begin(), kOtherSettings.end());
    add_known_variables(root, known);
    known.erase("");
    std::vector<std::string> misspelt;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view whole = *variable;
        const std::string name(whole.substr(0, whole.find('=')));
        if (!name.starts_with(kVariablePrefix) || known.contains(name)) continue;
        if (std::find(kOfTheSourceTree.begin(), kOfTheSourceTree.end(), name) != kOfTheSourceTree.end()) continue;
        misspelt.push_back(with_nearest(name, known));
    }
    return misspelt;
}

}  // namespace colugo
