#include "cli/variables.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <set>

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

// Characters to add, drop or change (Levenshtein).
size_t edit_distance(std::string_view from, std::string_view to) {
    std::vector<size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < from.size(); ++i) {
        size_t diagonal = row[0]++;
        for (size_t j = 0; j < to.size(); ++j) {
            const size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::string with_nearest(const std::string& name, const std::set<std::string>& known) {
    // Of a short name that many changes leave nothing.
    const size_t near = std::min<size_t>(3, (name.size() - kVariablePrefix.size()) / 2);
    const auto nearer = [&](const std::string& a, const std::string& b) {
        return edit_distance(name, a) < edit_distance(name, b);
    };
    const auto nearest = std::min_element(known.begin(), known.end(), nearer);
    if (nearest == known.end() || edit_distance(name, *nearest) > near) return name;
    return fmt::format("{} ({} does)", name, *nearest);
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
