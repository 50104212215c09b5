#include "cli/completions.h"

#include <fmt/format.h>

namespace colugo {

namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : std::string(between)) + part;
    return text;
}

// Inside single quotes of any of the three shells.
std::string quotable(std::string_view text, std::string_view quote) {
    std::string out;
    for (const char c : text) out += c == '\'' ? std::string(quote) : std::string(1, c);
    return out;
}

// Texts may be files; numbers are none.
bool may_be_file(const OptionRow& row) {
    return row.choices.empty() && (row.value == "TEXT" || row.value == "FILE");
}

std::string bash_values(const std::vector<OptionRow>& options) {
    std::string text;
    for (const OptionRow& row : options) {
        if (row.value.empty() || row.is_positional) continue;
        const std::string reply =
            may_be_file(row) ? "COMPREPLY=($(compgen -f -- \"$word\"))"
                             : fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))", joined(row.choices, " "));
        text += fmt::format("                {}) {}; return ;;\n", joined(row.names, "|"), reply);
    }
    return text;
}

std::string bash_branch(std::string_view pattern, const std::vector<OptionRow>& options, const std::string& others) {
    std::string names;
    for (const OptionRow& row : options) {
        if (!row.is_positional) names += (names.empty() ? "" : " ") + joined(row.names, " ");
    }
    return fmt::format(
        "        {})\n            case $before in\n{}            esac\n            words='{}'\n            {}\n        "
        "    ;;\n",
        pattern, bash_values(options), names, others);
}

// One option for zsh's _arguments: each of its names excludes the others.
std::string zsh_option(const OptionRow& row) {
    std::string about;
    for (const char c : quotable(row.description, "'\\''")) {
        if (c == '[' || c == ']' || c == ':') about += '\\';
        about += c;
    }
    std::string action;
    if (!row.choices.empty()) action = fmt::format(":{}:({})", row.value, joined(row.choices, " "));
    if (row.choices.empty() && !row.value.empty()) {
        action = fmt::format(":{}:{}", row.value, may_be_file(row) ? "_files" : "");
    }
    std::string text;
    for (const std::string& name : row.names) {
        text += fmt::format(" \\\n                '({}){}[{}]{}'", joined(row.names, " "), name, about, action);
    }
    return text;
}

std::string zsh_arguments(const std::vector<OptionRow>& options) {
    std::string text = "_arguments -S";
    for (const OptionRow& row : options) {
        if (!row.is_positional) text += zsh_option(row);
    }
    return text;
}

std::string fish_option(const OptionRow& row, const std::string& condition) {
    std::string text = fmt::format("complete -c colugo -n '{}'", condition);
    for (const std::string& name : row.names) {
        const bool is_long = name.starts_with("--");
        text += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
    }
    if (!row.choices.empty()) text += fmt::format(" -xa '{}'", joined(row.choices, " "));
    if (row.choices.empty() && !row.value.empty()) text += may_be_file(row) ? " -rF" : " -x";
    return text + fmt::format(" -d '{}'\n", quotable(row.description, "\\'"));
}

}  // namespace

std::string bash_completion(const OptionTable& table) {
    std::vector<std::string> commands;
    for (const CommandRow& command : table.commands) commands.push_back(command.name);
    std::string text = "# Completion of colugo for bash; from: colugo completion bash\n_colugo() {\n";
    text +=
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' words='' i\n"
        "    for ((i = 1; i < COMP_CWORD; ++i)); do\n"
        "        case ${COMP_WORDS[i]} in\n";
    text += fmt::format("            {}) command=${{COMP_WORDS[i]}}; break ;;\n        esac\n    done\n",
                        joined(commands, "|"));
    text += "    case $command in\n";
    for (const CommandRow& command : table.commands) {
        std::string positionals;  // their choices, or files
        for (const OptionRow& row : command.options) {
            if (row.is_positional) positionals += " " + joined(row.choices, " ");
        }
        text += bash_branch(
            command.name, command.options,
            fmt::format("[[ $word == -* ]] || words='{}'", positionals.substr(positionals.empty() ? 0 : 1)));
    }
    text += bash_branch("*", table.options, fmt::format("[[ $word == -* ]] || words='{}'", joined(commands, " ")));
    return text +
           "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "}\ncomplete -o default -F _colugo colugo\n";
}

std::string zsh_completion(const OptionTable& table) {
    std::string text =
        "#compdef colugo\n# Completion of colugo for zsh; from: colugo completion zsh\n_colugo() {\n"
        "    local context state state_descr line\n    typeset -A opt_args\n    _arguments -C";
    for (const OptionRow& row : table.options) text += zsh_option(row);
    text +=
        " \\\n        '1:command:->command' '*::argument:->argument'\n    case $state in\n        command)\n           "
        " local -a commands=(";
    for (const CommandRow& command : table.commands) {
        text += fmt::format("\n                '{}:{}'", command.name, quotable(command.description, "'\\''"));
    }
    text +=
        ")\n            _describe command commands\n            ;;\n        argument)\n            case $line[1] in\n";
    for (const CommandRow& command : table.commands) {
        std::string positionals;
        for (const OptionRow& row : command.options) {
            if (!row.is_positional) continue;
            const std::string action = row.choices.empty() ? "_files" : fmt::format("({})", joined(row.choices, " "));
            positionals += fmt::format(" \\\n                ':{}:{}'", row.names.front(), action);
        }
        text += fmt::format("            {}) {}{} ;;\n", command.name, zsh_arguments(command.options), positionals);
    }
    return text + "            esac\n            ;;\n    esac\n}\ncompdef _colugo colugo\n";
}

std::string fish_completion(const OptionTable& table) {
    std::string text = "# Completion of colugo for fish; from: colugo completion fish\n";
    for (const OptionRow& row : table.options) text += fish_option(row, "__fish_use_subcommand");
    for (const CommandRow& command : table.commands) {
        text += fmt::format("complete -c colugo -n __fish_use_subcommand -xa {} -d '{}'\n", command.name,
                            quotable(command.description, "\\'"));
        const std::string condition = "__fish_seen_subcommand_from " + command.name;
        for (const OptionRow& row : command.options) {
            if (!row.is_positional) {
                text += fish_option(row, condition);
            } else if (!row.choices.empty()) {
                text += fmt::format("complete -c colugo -n '{}' -xa '{}'\n", condition, joined(row.choices, " "));
            }
        }
    }
    return text;
}

}  // namespace colugo
