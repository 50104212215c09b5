#include "server/conversation.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "server/message_content.h"

namespace colugo {

namespace {

using Role = Message::Role;
using Messages = std::vector<Message>;

void append_paragraph(std::string& text, const std::string& paragraph) {
    if (!is_blank(text) && !is_blank(paragraph)) text += "\n\n";
    if (!is_blank(paragraph)) text += paragraph;
}

std::string reminder(const std::string& text) {
    return "<system-reminder>\n" + text + "\n</system-reminder>";
}

void add_system_message(Messages& messages, Message message) {
    if (messages.empty()) return messages.push_back(std::move(message));
    Message& last = messages.back();
    if (last.role == Role::system) return append_paragraph(last.content, message.content);
    if (is_blank(message.content)) return;
    if (last.role != Role::assistant) return append_paragraph(last.content, reminder(message.content));
    messages.push_back({.role = Role::user, .content = reminder(message.content), .index = message.index});
}

// The tool messages behind an assistant's message with `calls`. Results that none of them asked for come last.
void order_results(const nlohmann::ordered_json& calls, Messages::iterator begin, Messages::iterator end) {
    std::unordered_map<std::string, size_t> places;
    for (const auto& call : calls) {
        if (call.contains("id")) places.emplace(call["id"].get<std::string>(), places.size());
    }
    const auto place = [&](const Message& result) {
        const auto found = places.find(result.call_id);
        return found == places.end() ? places.size() : found->second;
    };
    std::stable_sort(begin, end, [&](const Message& a, const Message& b) { return place(a) < place(b); });
}

void order_all_results(Messages& messages) {
    for (auto at = messages.begin(); at != messages.end();) {
        const auto asked = at++;
        if (asked->calls.empty()) continue;
        const auto begin = at;
        while (at != messages.end() && at->role == Role::tool) ++at;
        order_results(asked->calls, begin, at);
    }
}

void add_missing_query(Messages& messages) {
    const auto first = std::find_if(messages.begin(), messages.end(),
                                    [](const Message& message) { return message.role != Role::system; });
    const bool told =
        first != messages.end() && (first->is_query() || (first->role == Role::assistant && first->calls.empty()));
    const bool asked = std::any_of(first, messages.end(), [](const Message& message) { return message.is_query(); });
    if (!told || !asked) messages.insert(first, Message{.role = Role::user});
}

bool says_nothing(const Message& message) {
    return message.role == Role::assistant && is_blank(message.content) && is_blank(message.reasoning) &&
           !message.open_thought && message.calls.empty();
}

}  // namespace

std::vector<Message> read_conversation(RequestFields& fields, const std::vector<std::string>& dropped_headers,
                                       std::set<std::string>& unknown) {
    const nlohmann::ordered_json* list = fields.list("messages");
    if (list == nullptr || list->empty()) fields.refuse_value("messages", "a list of at least one message");
    Messages messages;
    for (size_t i = 0; i < list->size(); ++i) {
        const auto& headers = i == 0 ? dropped_headers : std::vector<std::string>{};
        Message message = read_message((*list)[i], fmt::format("messages[{}]", i), headers, unknown);
        message.index = i;
        if (message.role == Role::system) {
            add_system_message(messages, std::move(message));
        } else {
            messages.push_back(std::move(message));
        }
    }
    if (says_nothing(messages.back())) messages.pop_back();
    order_all_results(messages);
    add_missing_query(messages);
    return messages;
}

}  // namespace colugo
