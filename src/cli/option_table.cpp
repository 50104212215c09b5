#include "cli/option_table.h"

#include "cli/variables.h"

namespace colugo {

namespace {

std::vector<std::string> split(const std::string& text, char mark) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(mark, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

OptionRow row_of(const CLI::Option& option) {
    OptionRow row;
    row.is_positional = !option.nonpositional();
    if (row.is_positional) row.names.push_back(option.get_name(true));
    for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
    row.description = option.get_description();
    row.variable = setting_variable(option);
    if (option.get_items_expected_max() == 0) return row;  // --help, whose type says nothing
    // "TEXT:{a,b}", "INT:0..9", "TEXT": the type, and what a check says of itself.
    const std::string type = option.get_type_name();
    const size_t mark = std::min(type.find(':'), type.size());
    row.value = type.substr(0, mark);
    const std::string check = type.substr(std::min(mark + 1, type.size()));
    if (check.starts_with('{') && check.ends_with('}')) {
        row.choices = split(check.substr(1, check.size() - 2), ',');
    } else {
        row.range = check;
    }
    row.standard = option.get_default_str();
    return row;
}

std::vector<OptionRow> rows_of(const CLI::App& app) {
    std::vector<OptionRow> rows;
    for (const CLI::Option* option : app.get_options()) rows.push_back(row_of(*option));
    return rows;
}

CommandRow table_of(const CLI::App& app, const OptionRow& config) {
    CommandRow table{app.get_name(), app.get_description(), rows_of(app), {}};
    // The program's own option may stand behind each command.
    if (app.get_parent() != nullptr) table.options.push_back(config);
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        table.commands.push_back(table_of(*command, config));
    }
    return table;
}

}  // namespace

CommandRow option_table(const CLI::App& root) {
    return table_of(root, row_of(*root.get_config_ptr()));
}

}  // namespace colugo
