#include "cli/chat_session.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <span>

#include "base/error.h"
#include "quant/output_file.h"
#include "text/utf8.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

enum class Text { none, optional, required };

struct ChatCommandName {
    std::string_view name;
    ChatAction action;
    Text text;
    std::string_view usage;
    std::string_view help;
};

constexpr ChatCommandName kCommands[] = {
    {"/help", ChatAction::help, Text::none, "/help", "shows this"},
    {"/system", ChatAction::system, Text::optional, "/system [TEXT]",
     "begins anew with this system message, or with none"},
    {"/reset", ChatAction::reset, Text::none, "/reset", "begins anew with the same system message"},
    {"/undo", ChatAction::undo, Text::none, "/undo", "drops the last question and its reply"},
    {"/retry", ChatAction::retry, Text::none, "/retry", "asks the last question again"},
    {"/stats", ChatAction::stats, Text::none, "/stats", "tells what was read, generated and cached"},
    {"/save", ChatAction::save, Text::required, "/save FILE", "writes the conversation for colugo run --messages"},
    {"/quit", ChatAction::quit, Text::none, "/quit", "ends, as Ctrl-D does"},
};

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::string valid_text(std::string_view text) {
    std::string storage;
    return std::string(to_valid_utf8(text, storage));
}

// All of it, durable, or no file.
void write_file(const std::string& path, std::string_view text) {
    const OutputFile file(path);
    try {
        file.truncate(0);
        file.write(0, text);
        file.sync();
    } catch (const Error&) {
        std::remove(path.c_str());
        throw;
    }
}

}  // namespace

ChatLine parse_chat_line(std::string_view line) {
    if (!line.starts_with('/')) return {ChatAction::message, std::string(line)};
    const std::string_view name = line.substr(0, line.find_first_of(kBlanks));
    const std::string_view text = trimmed(line.substr(name.size()));
    const auto command =
        std::find_if(std::begin(kCommands), std::end(kCommands), [&](const auto& one) { return one.name == name; });
    if (command == std::end(kCommands)) {
        std::string names;
        for (const ChatCommandName& one : kCommands) names += (names.empty() ? "" : ", ") + std::string(one.name);
        fail(ErrorCode::invalid_argument,
             "there is no command {}; there are {} (a message that begins with a slash takes a blank before it)", name,
             names);
    }
    if (command->text == Text::none && !text.empty()) {
        fail(ErrorCode::invalid_argument, "{} takes nothing behind it", name);
    }
    if (command->text == Text::required && text.empty()) {
        fail(ErrorCode::invalid_argument, "{} is written {}", name, command->usage);
    }
    return {command->action, std::string(text)};
}

std::string chat_help() {
    std::string help;
    for (const ChatCommandName& one : kCommands) help += fmt::format("{:<15} {}\n", one.usage, one.help);
    return help +
           "Anything else is a message. A line that ends in a backslash goes on in the next one.\n"
           "Ctrl-C ends a reply, which is kept as far as it came.\n";
}

void ChatSession::begin(std::string_view system) {
    system_ = valid_text(system);
    exchanges_.clear();
    give_up();
}

void ChatSession::ask(std::string_view question) {
    question_ = valid_text(question);
    again_ = false;
}

void ChatSession::ask_again() {
    if (exchanges_.empty()) fail(ErrorCode::invalid_argument, "/retry: nothing has been asked yet");
    question_ = exchanges_.back().question;
    again_ = true;
}

ordered_json ChatSession::messages(size_t exchanges) const {
    ordered_json list = ordered_json::array();
    if (!system_.empty()) list.push_back({{"role", "system"}, {"content", system_}});
    for (const Exchange& exchange : std::span(exchanges_).first(exchanges)) {
        list.push_back({{"role", "user"}, {"content", exchange.question}});
        ordered_json reply = {{"role", "assistant"}, {"content", exchange.reply.content}};
        if (exchange.reply.reasoning) reply["reasoning_content"] = *exchange.reply.reasoning;
        list.push_back(std::move(reply));
    }
    return list;
}

ChatInput ChatSession::input() const {
    COLUGO_CHECK(question_);
    ChatInput input;
    input.messages = messages(exchanges_.size() - (again_ ? 1 : 0));
    input.messages.push_back({{"role", "user"}, {"content", *question_}});
    return input;
}

void ChatSession::answer(Reply reply) {
    COLUGO_CHECK(question_);
    if (again_) exchanges_.pop_back();
    exchanges_.push_back({std::move(*question_), std::move(reply)});
    give_up();
}

void ChatSession::undo() {
    if (exchanges_.empty()) fail(ErrorCode::invalid_argument, "/undo: nothing has been said yet");
    exchanges_.pop_back();
}

std::optional<ChatSession::FileMark> ChatSession::mark_of(const std::string& path) {
    struct stat status {};
    if (lstat(path.c_str(), &status) == 0) {
        return FileMark{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    }
    if (errno != ENOENT) fail_errno("write", path);
    return std::nullopt;
}

void ChatSession::save(const std::string& path) {
    if (exchanges_.empty()) fail(ErrorCode::invalid_argument, "/save: nothing has been said yet");
    const std::optional<FileMark> present = mark_of(path);
    if (present && std::find(saved_.begin(), saved_.end(), *present) == saved_.end()) {
        fail(ErrorCode::invalid_argument, "there is a {} already, which this conversation did not write", path);
    }
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder)) {
        fail(ErrorCode::not_found, "there is no folder {}", folder.string());
    }
    const std::string temporary = (folder / fmt::format(".colugo-chat-{}.tmp", getpid())).string();
    const ordered_json document = {{"messages", messages(exchanges_.size())}};
    write_file(temporary, document.dump(2) + "\n");
    if (!present) {
        rename_to_new(temporary, path);
    } else if (std::rename(temporary.c_str(), path.c_str()) != 0) {
        fail_errno("write", path);
    }
    if (const auto mark = mark_of(path)) saved_.push_back(*mark);
}

}  // namespace colugo
