// colugo man and colugo completion: what is installed beside the program, made from its own options.
#include "cli/command.h"
#include "cli/completions.h"
#include "cli/man_page.h"
#include "cli/text_output.h"

namespace colugo {

Command add_man_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("man", "Print the manual page (colugo man | man -l -)");
    return {app, [&root] {
                write_output(man_page(option_table(root)));
                return Outcome::success;
            }};
}

Command add_completion_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("completion", "Print a shell's completion of this program");
    auto shell = std::make_shared<std::string>();
    app->add_option("shell", *shell, "The shell")->check(CLI::IsMember({"bash", "zsh", "fish"}))->required();
    return {app, [&root, shell] {
                const CommandRow table = option_table(root);
                if (*shell == "bash") write_output(bash_completion(table));
                if (*shell == "zsh") write_output(zsh_completion(table));
                if (*shell == "fish") write_output(fish_completion(table));
                return Outcome::success;
            }};
}

}  // namespace colugo
