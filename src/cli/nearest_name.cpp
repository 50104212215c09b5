#include "cli/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace colugo {

namespace {

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

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, const std::set<std::string>& known, size_t common) {
    const auto nearer = [&](const std::string& a, const std::string& b) {
        return edit_distance(name, a) < edit_distance(name, b);
    };
    const auto nearest = std::min_element(known.begin(), known.end(), nearer);
    // Of a short name that many changes leave nothing.
    const size_t near = std::min<size_t>(3, (name.size() - std::min(common, name.size())) / 2);
    if (nearest == known.end() || edit_distance(name, *nearest) > near) return std::nullopt;
    return *nearest;
}

std::set<std::string> command_names(const CLI::App& app) {
    std::set<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.insert(command->get_name());
    }
    return names;
}

std::set<std::string> option_names(const CLI::App& app, bool configurable) {
    std::set<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        if (configurable && !option->get_configurable()) continue;
        names.insert(option->get_lnames().begin(), option->get_lnames().end());
    }
    return names;
}

}  // namespace colugo
