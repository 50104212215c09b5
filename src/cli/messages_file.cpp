#include "cli/messages_file.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/json_reader.h"
#include "cli/input_text.h"

namespace colugo {

namespace {

constexpr uint64_t kMaxMessagesBytes = uint64_t{256} << 20;

}  // namespace

ChatInput read_messages_file(const std::string& path) {
    const auto text = read_input_file(path, kMaxMessagesBytes);
    if (!text) fail(ErrorCode::not_found, "there is no messages file {}", path);
    return parse_conversation(*text, path);
}

ChatInput parse_conversation(const std::string& text, const std::string& source) {
    nlohmann::ordered_json document = parse_ordered_json(text, source);
    const auto refuse = [&](const std::string& expected) {
        fail(ErrorCode::invalid_file, "{} is no conversation: expected {}", source, expected);
    };
    if (document.is_array()) document = {{"messages", std::move(document)}};
    if (!document.is_object()) refuse("an object with \"messages\", or a list of messages");
    ChatInput input;
    for (auto& [key, value] : document.items()) {
        if (key == "messages") {
            if (!value.is_array() || value.empty()) refuse("\"messages\" to be a list of at least one message");
            try {
                input.messages = prepare_messages(std::move(value));
            } catch (const Error& error) {
                fail(ErrorCode::invalid_file, "{}: {}", source, error.what());
            }
        } else if (key == "tools") {
            const auto is_object = [](const nlohmann::ordered_json& tool) { return tool.is_object(); };
            const bool objects = value.is_array() && std::all_of(value.begin(), value.end(), is_object);
            if (!value.is_null() && !objects) refuse("\"tools\" to be a list of objects");
            if (!value.empty()) input.tools = std::move(value);
        } else if (key == "chat_template_kwargs") {
            if (!value.is_null() && !value.is_object()) refuse("\"chat_template_kwargs\" to be an object");
            if (value.is_object()) input.extra = std::move(value);
        } else {
            refuse("the keys messages, tools and chat_template_kwargs only, not \"" + key + "\"");
        }
    }
    if (input.messages.empty()) refuse("\"messages\"");
    return input;
}

}  // namespace colugo
