// The only place where errors become exit codes: 0 done, 1 it failed (one sentence on standard error), 2 it was asked
// wrongly, 130 interrupted.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/settings.h"
#include "cli/text_output.h"
#include "cli/variables.h"
#include "text/terminal_text.h"

namespace colugo {

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kInterrupted = 130;

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Short options of two letters that are known from elsewhere; the parser has only one letter for those. They stand
// before a number: anything else is somebody's text.
std::vector<std::string> arguments(int argc, char** argv) {
    std::vector<std::string> all(argv + std::min(argc, 1), argv + argc);
    for (size_t i = 0; i + 1 < all.size() && all[i] != "--"; ++i) {
        if (!is_number(all[i + 1])) continue;
        if (all[i] == "-np") all[i] = "--parallel";
        if (all[i] == "-ub") all[i] = "--ubatch-size";
    }
    std::reverse(all.begin(), all.end());  // as the parser takes them
    return all;
}

int report(int exit_code, std::string_view sentence) {
    write_note(fmt::format("colugo: {}\n", on_one_line(sentence)));
    return exit_code;
}

// " run", or nothing when no command was given.
std::string given(const CLI::App& app) {
    for (const CLI::App* command : app.get_subcommands()) return " " + command->get_name() + given(*command);
    return "";
}

Outcome execute(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
        if (command.app->parsed()) return command.execute();
    }
    throw CLI::RequiredError("A command");
}

void note_misspelt_variables(const CLI::App& app) {
    for (const std::string& name : misspelt_variables(app)) {
        write_note(fmt::format("colugo: note: the variable {} sets nothing\n", on_one_line(name)));
    }
}

int run(int argc, char** argv) {
    CLI::App app("Runs hybrid language models (Qwen3.5, Qwen3.6) on the CPU of one machine", "colugo");
    app.set_version_flag("--version", "colugo " COLUGO_VERSION);
    app.require_subcommand(0, 1);
    const std::vector<Command> commands = {add_run_command(app),       add_chat_command(app),   add_serve_command(app),
                                           add_quantize_command(app),  add_eval_command(app),   add_bench_command(app),
                                           add_inspect_command(app),   add_doctor_command(app), add_man_command(app),
                                           add_completion_command(app)};
    std::vector<std::string> all = arguments(argc, argv);
    add_settings_sources(app, all);
    try {
        app.parse(all);
        if (app.get_subcommands().empty()) write_note(app.help());  // which lists them
        note_misspelt_variables(app);
        switch (execute(commands)) {
            case Outcome::success:
                return 0;
            case Outcome::failed:
                return kFailed;
            case Outcome::interrupted:
                return kInterrupted;
        }
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {  // --help, --version
            app.exit(error);
            return std::cout.flush() ? 0 : kFailed;
        }
        return report(kUsage, fmt::format("{} (colugo{} --help shows what is accepted)", error.what(), given(app)));
    } catch (const Interrupted&) {
        return kInterrupted;
    } catch (const Error& error) {
        return report(kFailed, error.what());
    } catch (const std::bad_alloc&) {
        return report(kFailed, "there is not enough memory");
    } catch (const std::exception& error) {
        return report(kFailed, fmt::format("this should not have happened: {}", error.what()));
    }
    return kFailed;
}

}  // namespace

}  // namespace colugo

int main(int argc, char** argv) {
    colugo::prepare_standard_streams();
    colugo::catch_interrupts();
    return colugo::run(argc, argv);
}
