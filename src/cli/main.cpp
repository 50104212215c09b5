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
#include "cli/unknown_argument.h"
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

// The command that the words name, as far as they do; it need not have been parsed.
const CLI::App& named_command(const CLI::App& root, const std::vector<std::string>& words) {
    const CLI::App* command = &root;
    for (const std::string& word : words) {
        const auto named = command->get_subcommands([&](const CLI::App* inner) { return inner->check_name(word); });
        if (!named.empty()) command = named.front();
    }
    return *command;
}

// Short options of two letters that are known from elsewhere; the parser has only one letter for those. They stand
// before a number: anything else is somebody's text. Throws CLI::ParseError where the command has no such option.
std::vector<std::string> long_names_for_short(const CLI::App& root, std::vector<std::string> words) {
    const CLI::App& command = named_command(root, words);
    for (size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
        const std::string name = words[i] == "-np" ? "--parallel" : words[i] == "-ub" ? "--ubatch-size" : "";
        if (name.empty() || !is_number(words[i + 1])) continue;
        if (command.get_option_no_throw(name) == nullptr) {
            throw CLI::ExtrasError(unknown_flag(command, words[i]), CLI::ExitCodes::ExtrasError);
        }
        words[i] = name;
    }
    return words;
}

int report(int exit_code, std::string_view sentence) {
    write_note(fmt::format("colugo: {}\n", on_one_line(sentence)));
    return exit_code;
}

// What was not known explains what is missing, and not the other way round.
std::string fault(const CLI::App& app, const CLI::ParseError& error) {
    const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
    const bool may_be_unknown = code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError;
    const std::string unknown = may_be_unknown ? unknown_argument(app) : "";
    return unknown.empty() ? error.what() : unknown;
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
    app.footer("Variable COLUGO_FORCE_ISA: the instruction set (tier) to use; colugo doctor lists those of this CPU");
    const std::vector<Command> commands = {add_run_command(app),       add_chat_command(app),   add_serve_command(app),
                                           add_quantize_command(app),  add_eval_command(app),   add_bench_command(app),
                                           add_inspect_command(app),   add_doctor_command(app), add_man_command(app),
                                           add_completion_command(app)};
    const std::vector<std::string> typed(argv + std::min(argc, 1), argv + argc);
    add_settings_sources(app, typed);
    try {
        std::vector<std::string> words = long_names_for_short(app, typed);
        std::reverse(words.begin(), words.end());  // as the parser takes them
        app.parse(words);
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
        const CLI::App& command = app.get_subcommands().empty() ? named_command(app, typed) : given_command(app);
        return report(kUsage,
                      fmt::format("{} ({} --help shows what is accepted)", fault(app, error), whole_name(command)));
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
