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
    return row.choices.empty() && (row.value == "TEXT" || row.value == "FILE" || row.value == "DIR");
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

std::string names_of(const std::vector<CommandRow>& commands) {
    std::string names;
    for (const CommandRow& command : commands) names += (names.empty() ? "" : " ") + command.name;
    return names;
}

// What may stand at the cursor behind each command: `path` is "serve", "bench agentic", nothing.
std::string bash_branches(const CommandRow& command, const std::string& path) {
    std::string names, others = names_of(command.commands);
    for (const OptionRow& row : command.options) {
        if (!row.is_positional) names += (names.empty() ? "" : " ") + joined(row.names, " ");
        if (row.is_positional) others += (others.empty() ? "" : " ") + joined(row.choices, " ");
    }
    std::string text = fmt::format("        '{}')\n            case $before in\n{}            esac\n", path,
                                   bash_values(command.options));
    text += fmt::format("            words='{}'\n            [[ $word == -* ]] || words='{}'\n            ;;\n", names,
                        others);
    for (const CommandRow& part : command.commands) {
        text += bash_branches(part, path.empty() ? part.name : path + " " + part.name);
    }
    return text;
}

// 'serve'|'bench'|'bench agentic'
std::string bash_paths(const CommandRow& command, const std::string& path) {
    std::string text;
    for (const CommandRow& part : command.commands) {
        const std::string name = path.empty() ? part.name : path + " " + part.name;
        const std::string below = bash_paths(part, name);
        text += fmt::format("{}'{}'{}{}", text.empty() ? "" : "|", name, below.empty() ? "" : "|", below);
    }
    return text;
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
        text += fmt::format(" \\\n        '({}){}[{}]{}'", joined(row.names, " "), name, about, action);
    }
    return text;
}

// The function of a command, which hands what stands behind a command of it to that one's.
std::string zsh_function(const CommandRow& command, const std::string& function) {
    std::string parts = fmt::format(
        "{}() {{\n    local curcontext=$curcontext context state state_descr line\n"
        "    typeset -A opt_args\n    _arguments -C",
        function);
    for (const OptionRow& row : command.options) {
        if (!row.is_positional) parts += zsh_option(row);
    }
    for (const OptionRow& row : command.options) {
        if (!row.is_positional) continue;
        const std::string action = row.choices.empty() ? "_files" : fmt::format("({})", joined(row.choices, " "));
        parts += fmt::format(" \\\n        ':{}:{}'", row.names.front(), action);
    }
    if (command.commands.empty()) return parts + "\n}\n";
    parts +=
        " \\\n        '1:command:->command' '*::argument:->argument'\n    case $state in\n        command)\n           "
        " local -a commands=(";
    std::string cases, functions;
    for (const CommandRow& part : command.commands) {
        const std::string name = function + "_" + part.name;
        parts += fmt::format("\n                '{}:{}'", part.name, quotable(part.description, "'\\''"));
        cases += fmt::format("            {}) {} ;;\n", part.name, name);
        functions += zsh_function(part, name);
    }
    return functions + parts +
           ")\n            _describe command commands\n            ;;\n        argument)\n            case $line[1] "
           "in\n" +
           cases + "            esac\n            ;;\n    esac\n}\n";
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

// `seen`: the condition that the command was given; its own options count until one of its commands is.
std::string fish_command(const CommandRow& command, const std::string& seen) {
    const std::string names = names_of(command.commands);
    const std::string here =
        names.empty() ? seen : fmt::format("{}; and not __fish_seen_subcommand_from {}", seen, names);
    std::string text;
    for (const OptionRow& row : command.options) {
        if (!row.is_positional) {
            text += fish_option(row, here);
        } else if (!row.choices.empty()) {
            text += fmt::format("complete -c colugo -n '{}' -xa '{}'\n", here, joined(row.choices, " "));
        }
    }
    for (const CommandRow& part : command.commands) {
        text += fmt::format("complete -c colugo -n '{}' -xa {} -d '{}'\n", here, part.name,
                            quotable(part.description, "\\'"));
        text += fish_command(part, fmt::format("{}; and __fish_seen_subcommand_from {}", seen, part.name));
    }
    return text;
}

}  // namespace

std::string bash_completion(const CommandRow& table) {
    std::string text = "# Completion of colugo for bash; from: colugo completion bash\n_colugo() {\n";
    text +=
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' words='' i\n"
        "    for ((i = 1; i < COMP_CWORD; ++i)); do\n"
        "        case \"${command:+$command }${COMP_WORDS[i]}\" in\n";
    text +=
        fmt::format("            {}) command=${{command:+$command }}${{COMP_WORDS[i]}} ;;\n        esac\n    done\n",
                    bash_paths(table, ""));
    return text + "    case $command in\n" + bash_branches(table, "") +
           "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "}\ncomplete -o default -F _colugo colugo\n";
}

std::string zsh_completion(const CommandRow& table) {
    return "#compdef colugo\n# Completion of colugo for zsh; from: colugo completion zsh\n" +
           zsh_function(table, "_colugo") + "compdef _colugo colugo\n";
}

std::string fish_completion(const CommandRow& table) {
    return "# Completion of colugo for fish; from: colugo completion fish\n" + fish_command(table, "true");
}

}  // namespace colugo
