#include "bench/command_score.h"

#include <algorithm>
#include <map>

#include "text/compact_json.h"
#include "text/jinja_unicode.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

// Names of programs that count, and the name each counts as.
const std::map<std::string_view, std::string_view>& program_names() {
    static const std::map<std::string_view, std::string_view> names = [] {
        std::map<std::string_view, std::string_view> all = {
            {"python2", "python"},
            {"python3", "python"},
            {"py", "python"},
            {"pip3", "pip"},
            {"sphinx-build", "sphinx"},
            {"sphinx-quickstart", "sphinx"},
            {"less", "cat"},
            {"more", "cat"},
            {"egrep", "grep"},
            {"fgrep", "grep"},
            {"rg", "grep"},
            {"ag", "grep"},
            {"gawk", "awk"},
            {"locate", "find"},
            {".", "source"},
            {"wget", "curl"},
            {"apt-get", "apt"},
        };
        for (const std::string_view name :
             {"python", "pip",  "pytest", "pylint", "cython",  "make", "conda",  "cat",   "head",  "tail",  "wc",
              "diff",   "grep", "sed",    "awk",    "tr",      "sort", "uniq",   "cut",   "find",  "ls",    "xargs",
              "cp",     "mv",   "rm",     "mkdir",  "touch",   "tee",  "source", "which", "alias", "unset", "export",
              "git",    "curl", "true",   "false",  "timeout", "date", "apt",    "yum"}) {
            all.emplace(name, name);
        }
        return all;
    }();
    return names;
}

bool is_prefix_word(std::string_view word) {
    for (const std::string_view prefix : {"env", "time", "nice", "sudo", "exec", "command"}) {
        if (word == prefix) return true;
    }
    return false;
}

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "NAME=..."
bool is_assignment(std::string_view word) {
    const size_t equals = word.find('=');
    if (equals == word.npos || equals == 0 || (word[0] >= '0' && word[0] <= '9')) return false;
    return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_name_character);
}

// Where the quoted run that begins at `begin` ends, its mark included; npos where it does not. In double quotes a
// backslash takes the next character of its line along.
size_t end_of_quoted(std::string_view text, size_t begin) {
    const char mark = text[begin];
    for (size_t i = begin + 1; i < text.size(); ++i) {
        if (text[i] == mark) return i + 1;
        if (mark != '"' || text[i] != '\\') continue;
        if (++i == text.size() || text[i] == '\n') return text.npos;
    }
    return text.npos;
}

// A mark that no other closes stays.
std::string without_quoted(std::string_view command) {
    std::string text;
    for (size_t i = 0; i < command.size();) {
        const bool is_mark = command[i] == '\'' || command[i] == '"' || command[i] == '`';
        const size_t end = is_mark ? end_of_quoted(command, i) : command.npos;
        text += end == command.npos ? command[i] : ' ';
        i = end == command.npos ? i + 1 : end;
    }
    return text;
}

// At |, ||, &&, ; and ends of lines.
std::vector<std::string_view> stages_of(std::string_view text) {
    std::vector<std::string_view> stages;
    size_t begin = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool is_and = text.substr(i).starts_with("&&");
        if (!is_and && text[i] != '|' && text[i] != ';' && text[i] != '\n') continue;
        stages.push_back(text.substr(begin, i - begin));
        if (is_and) ++i;
        begin = i + 1;
    }
    stages.push_back(text.substr(begin));
    return stages;
}

// At white space of any script.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t here = at;
        if (!jinja::is_space(jinja::next_code_point(text, at))) continue;
        if (here > begin) words.push_back(text.substr(begin, here - begin));
        begin = at;
    }
    if (begin < text.size()) words.push_back(text.substr(begin));
    return words;
}

std::string lower(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size();) jinja::append_lower(out, jinja::next_code_point(text, at));
    return out;
}

// Less one ".3" at the end, if there is one.
std::string_view without_number(std::string_view name) {
    size_t end = name.size();
    while (end > 0) {
        const size_t begin = jinja::previous_boundary(name, end);
        size_t at = begin;
        const char32_t c = jinja::next_code_point(name, at);
        if (c == '.' && end < name.size()) return name.substr(0, begin);
        if (!jinja::is_decimal(c)) return name;
        end = begin;
    }
    return name;
}

// "" where it is none that counts.
std::string_view program_of(std::string_view stage) {
    for (const std::string_view word : words_of(stage)) {
        if (is_assignment(word) || is_prefix_word(word)) continue;
        const std::string leaf = lower(word.substr(word.rfind('/') + 1));
        const auto found = program_names().find(without_number(without_number(leaf)));
        return found == program_names().end() ? std::string_view() : found->second;
    }
    return {};
}

std::string command_of(const ordered_json& call) {
    const auto text = [](const ordered_json& object, const char* name) {
        const auto found = object.find(name);
        return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (!call.is_object()) return {};
    const auto function = call.find("function");
    if (function == call.end() || !function->is_object() || text(*function, "name") != "bash") return {};
    const auto found = function->find("arguments");
    if (found == function->end()) return {};
    ordered_json arguments = *found;
    if (arguments.is_string()) arguments = parse_json(found->get_ref<const std::string&>());
    if (!arguments.is_object()) return {};
    const auto command = arguments.find("command");
    const bool is_other = command != arguments.end() && !command->is_null() && *command != "";
    return text(arguments, is_other ? "command" : "cmd");
}

}  // namespace

std::vector<std::string> command_programs(std::string_view command) {
    std::vector<std::string> programs;
    const std::string text = without_quoted(command);
    for (const std::string_view stage : stages_of(text)) {
        const std::string_view program = program_of(stage);
        if (!program.empty()) programs.emplace_back(program);
    }
    return programs;
}

std::vector<std::string> call_programs(const ordered_json& calls) {
    std::vector<std::string> programs;
    if (!calls.is_array()) return programs;
    for (const ordered_json& call : calls) {
        for (std::string& program : command_programs(command_of(call))) programs.push_back(std::move(program));
    }
    return programs;
}

std::optional<double> program_iou(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
    if (expected.empty()) return std::nullopt;
    std::map<std::string_view, std::pair<size_t, size_t>> counts;
    for (const std::string& program : expected) ++counts[program].first;
    for (const std::string& program : got) ++counts[program].second;
    size_t both = 0, either = 0;
    for (const auto& [program, count] : counts) {
        both += std::min(count.first, count.second);
        either += std::max(count.first, count.second);
    }
    return static_cast<double>(both) / static_cast<double>(either);
}

}  // namespace colugo
