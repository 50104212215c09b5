#include "server/message.h"

#include <optional>

#include "base/error.h"
#include "server/json_text.h"
#include "server/message_content.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

using Role = Message::Role;

Role read_role(RequestFields& fields) {
    const std::string role = fields.required_string("role");
    if (role == "user") return Role::user;
    if (role == "assistant") return Role::assistant;
    if (role == "system" || role == "developer") return Role::system;
    if (role == "tool" || role == "function") return Role::tool;
    fields.refuse_value("role", "system, developer, user, assistant, tool or function");
}

// History is not refused for what a model once wrote: the conversation could never go on.
ordered_json read_arguments(RequestFields& function) {
    const ordered_json* arguments = function.get("arguments");
    if (arguments == nullptr) return ordered_json::object();
    if (arguments->is_object()) return *arguments;
    const std::string text = *function.string("arguments");
    if (is_blank(text)) return ordered_json::object();
    std::optional<ordered_json> parsed = parse_json_text(text);
    if (parsed && parsed->is_object()) return *std::move(parsed);
    return ordered_json::object({{"raw", text}});
}

ordered_json read_call(const ordered_json& call, const std::string& path) {
    RequestFields fields(call, path + ".");
    ordered_json read = ordered_json::object();
    if (const auto id = fields.string("id")) read["id"] = *id;
    if (fields.string("type").value_or("function") != "function") fields.refuse_value("type", "\"function\"");
    // Some clients leave out the level "function".
    RequestFields function = fields.object("function").value_or(fields);
    const std::string name = function.required_string("name");
    if (name.empty()) function.refuse_value("name", "a function's name");
    read["type"] = "function";
    read["function"] = {{"name", name}, {"arguments", read_arguments(function)}};
    return read;
}

void split_inline_thought(Message& message) {
    constexpr std::string_view kOpen = "<think>", kClose = "</think>";
    std::string_view inside = without_leading_blanks(message.content);
    if (!inside.starts_with(kOpen)) return;
    inside.remove_prefix(kOpen.size());
    const size_t close = inside.find(kClose);
    message.open_thought = close == std::string_view::npos;
    message.reasoning = inside.substr(0, close);
    const std::string_view rest = message.open_thought ? "" : inside.substr(close + kClose.size());
    message.content = std::string(without_leading_blanks(rest));
}

void read_assistant(Message& message, RequestFields& fields, const std::string& path) {
    message.reasoning = fields.string("reasoning_content").value_or("");
    const std::string alias = fields.string("reasoning").value_or("");
    if (message.reasoning.empty()) message.reasoning = alias;
    if (is_blank(message.reasoning)) split_inline_thought(message);
    const std::string refusal = fields.string("refusal").value_or("");
    if (message.content.empty()) message.content = refusal;
    if (fields.has("audio")) fields.refuse_value("audio", "null: messages are text");
    if (fields.has("function_call")) fields.refuse_value("function_call", "null: calls are sent as tool_calls");
    fields.get("annotations");
    const ordered_json* calls = fields.list("tool_calls");
    for (size_t i = 0; calls != nullptr && i < calls->size(); ++i) {
        message.calls.push_back(read_call((*calls)[i], fmt::format("{}.tool_calls[{}]", path, i)));
    }
}

const char* role_name(Role role) {
    switch (role) {
        case Role::system:
            return "system";
        case Role::user:
            return "user";
        case Role::assistant:
            return "assistant";
        case Role::tool:
            break;
    }
    return "tool";
}

}  // namespace

bool Message::is_query() const {
    std::string_view text = without_leading_blanks(content);
    text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
    return role == Role::user && !(text.starts_with("<tool_response>") && text.ends_with("</tool_response>"));
}

ordered_json Message::to_json() const {
    ordered_json message = {{"role", role_name(role)}, {"content", content}};
    if (role == Role::assistant) message["reasoning_content"] = reasoning;
    if (!calls.empty()) message["tool_calls"] = calls;
    if (!call_id.empty()) message["tool_call_id"] = call_id;
    if (!name.empty()) message["name"] = name;
    return message;
}

Message read_message(const ordered_json& message, const std::string& path,
                     const std::vector<std::string>& dropped_headers, std::set<std::string>& unknown) {
    RequestFields fields(message, path + ".");
    Message read;
    read.role = read_role(fields);
    read.content = read_content(fields, read.role == Role::system ? dropped_headers : std::vector<std::string>{});
    read.name = fields.string("name").value_or("");
    if (read.role == Role::assistant) read_assistant(read, fields, path);
    if (read.role == Role::tool) read.call_id = fields.string("tool_call_id").value_or("");
    for (const std::string& name : fields.unknown()) unknown.insert("messages[]." + name);
    return read;
}

}  // namespace colugo
