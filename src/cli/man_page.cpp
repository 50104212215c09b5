#include "cli/man_page.h"

#include <fmt/format.h>

namespace colugo {

namespace {

// Text as it is: no macro at a line's begin, no escape, and hyphens that can be copied.
std::string roff(std::string_view text) {
    std::string out = !text.empty() && (text.front() == '.' || text.front() == '\'') ? "\\&" : "";
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : std::string(between)) + part;
    return text;
}

std::string value_of(const OptionRow& row) {
    return row.choices.empty() ? fmt::format("\\fI{}\\fR", roff(row.value)) : roff(joined(row.choices, "|"));
}

std::string entry(const OptionRow& row) {
    std::string head;
    for (const std::string& name : row.names) {
        head += head.empty() ? "" : ", ";
        head += row.is_positional ? fmt::format("\\fI{}\\fR", roff(name)) : fmt::format("\\fB{}\\fR", roff(name));
    }
    if (!row.value.empty() && !row.is_positional) head += " " + value_of(row);
    std::string facts;
    const auto add = [&](const std::string& fact) { facts += (facts.empty() ? "" : "; ") + fact; };
    if (!row.range.empty()) add(roff(row.range));
    if (!row.standard.empty()) add(fmt::format("default {}", roff(row.standard)));
    if (!row.variable.empty()) add(fmt::format("variable \\fB{}\\fR", roff(row.variable)));
    std::string text = fmt::format(".TP\n{}\n{}.\n", head, roff(row.description));
    if (!facts.empty()) text += fmt::format(".br\n[{}]\n", facts);
    return text;
}

// A section for each command; of a group, one for each of its commands.
std::string sections(const CommandRow& command, const std::string& group) {
    const std::string name = group + " " + command.name;
    std::string arguments = " [\\fIoptions\\fR]";
    for (const OptionRow& row : command.options) {
        if (row.is_positional) arguments += fmt::format(" [\\fI{}\\fR]", roff(row.names.front()));
    }
    if (!command.commands.empty()) arguments = " \\fIcommand\\fR";
    std::string text =
        fmt::format(".SS {0}\n{1}.\n.PP\n\\fB{0}\\fR{2}\n", roff(name), roff(command.description), arguments);
    for (const OptionRow& row : command.options) text += entry(row);
    for (const CommandRow& part : command.commands) text += sections(part, name);
    return text;
}

constexpr std::string_view kSettings =
    R"(Every option with a variable may come from it, or from a TOML file (\fB\-\-config\fR) that has a table for each
command, with the flags' long names: [serve], then cache\-gib = 4; of a command of bench, [bench.agentic]. The command
line counts before a variable, and a variable before the file.
A variable that begins with COLUGO_ and sets nothing is named on standard error.
.PP
\fBCOLUGO_FORCE_ISA\fR names the instruction set to use instead of the fastest of the machine's: scalar, avx2, avx512,
avx512_bf16 or amx. One that the CPU lacks is refused; colugo doctor lists those it has.
)";

constexpr std::string_view kEnd = R"(.SH EXIT STATUS
0: done. 1: it failed, with one sentence on standard error. 2: it was asked wrongly. 130: interrupted.
.SH FILES
.TP
/etc/default/colugo
Variables for the service colugo.service.
.SH EXAMPLES
.nf
colugo run "Why is the sky blue?"
colugo serve \-m DIR \-np 4 \-\-cache\-disk /var/cache/colugo
colugo doctor \-\-client opencode
.fi
)";

}  // namespace

std::string man_page(const CommandRow& table) {
    std::string text = fmt::format(".TH COLUGO 1 \"\" \"colugo {}\" \"User Commands\"\n.SH NAME\ncolugo \\- {}\n",
                                   roff(COLUGO_VERSION), roff(table.description));
    text += ".SH SYNOPSIS\n\\fBcolugo\\fR \\fIcommand\\fR [\\fIoptions\\fR]\n.SH OPTIONS\n";
    for (const OptionRow& row : table.options) text += entry(row);
    text += ".SH COMMANDS\n";
    for (const CommandRow& command : table.commands) text += sections(command, table.name);
    return text + ".SH SETTINGS\n" + std::string(kSettings) + std::string(kEnd);
}

}  // namespace colugo
