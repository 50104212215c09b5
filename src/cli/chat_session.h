// A conversation at a terminal: what a line asks for, what has been said, and how it goes to a file. Knows neither the
// terminal nor the engine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template.h"

namespace colugo {

// A reply as a conversation keeps it.
struct Reply {
    std::optional<std::string> reasoning = {};  // absent where the model did not think, not even in vain
    std::string content = {};
};

enum class ChatAction { message, help, system, reset, stats, save, undo, retry, quit };

struct ChatLine {
    ChatAction action = ChatAction::message;
    std::string text = {};  // the message, or what follows the command's name
};

// A line that begins with a slash is a command, any other one a message. Throws invalid_argument for a command there is
// none of, naming those there are, and for one with text too much or too little.
ChatLine parse_chat_line(std::string_view line);

// A line for each command.
std::string chat_help();

class ChatSession {
 public:
    // system: the system message; empty for none.
    explicit ChatSession(std::string_view system = {}) { begin(system); }

    // Forgets what was said, and takes another system message.
    void begin(std::string_view system);
    // Forgets what was said.
    void reset() { begin(system_); }

    // The next question. It becomes part of the conversation when answer() is called.
    void ask(std::string_view question);
    // The last question is the next one again; its reply stays until there is another. Throws invalid_argument when
    // nothing was asked.
    void ask_again();
    // The messages up to the question.
    ChatInput input() const;
    void answer(Reply reply);
    // There is no answer: the conversation is what it was.
    void give_up() { question_.reset(); }

    // Drops the last question and its reply. Throws invalid_argument when there is none.
    void undo();
    size_t exchanges() const { return exchanges_.size(); }

    // Writes {"messages": [...]}, as read_messages_file reads it. Throws invalid_argument when nothing was said or
    // there is a file that was not written by this session or has changed since; io, not_found.
    void save(const std::string& path);

 private:
    struct Exchange {
        std::string question;
        Reply reply;
    };
    // What tells a file from another one, and from itself after a change.
    struct FileMark {
        dev_t device;
        ino_t inode;
        int64_t size, seconds, nanoseconds;
        bool operator==(const FileMark&) const = default;
    };

    nlohmann::ordered_json messages(size_t exchanges) const;
    static std::optional<FileMark> mark_of(const std::string& path);

    std::string system_;
    std::vector<Exchange> exchanges_;
    std::optional<std::string> question_;  // one that waits for its reply
    bool again_ = false;                   // that takes the place of the last exchange
    std::vector<FileMark> saved_;
};

}  // namespace colugo
