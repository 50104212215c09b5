#include "text/chat_template.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/compact_json.h"
#include "text/jinja_evaluator.h"
#include "text/jinja_fault.h"
#include "text/utf8.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

// Templates like Phi's write '<|' + role + '|>'. Only these names may take part in a control token: an arbitrary role,
// such as "im_end", stays content.
constexpr std::array<std::string_view, 14> kRoles = {
    "assistant", "context",     "critic",   "developer", "environment", "function",      "ipython",
    "model",     "observation", "platform", "system",    "tool",        "tool_response", "user"};

jinja::Value convert_message(const ordered_json& message) {
    if (!message.is_object()) return jinja::Value::from_json(message);
    std::vector<std::pair<jinja::Value, jinja::Value>> entries;
    for (const auto& [key, value] : message.items()) {
        const bool known_role =
            key == "role" && value.is_string() &&
            std::find(kRoles.begin(), kRoles.end(), value.get_ref<const std::string&>()) != kRoles.end();
        entries.emplace_back(jinja::Value::string(jinja::Text(key, true)),
                             known_role ? jinja::Value::literal(value.get_ref<const std::string&>())
                                        : jinja::Value::from_json(value, 2));
    }
    return jinja::Value::dict(std::move(entries)).mark_content(true);
}

jinja::Value convert_messages(const ordered_json& messages) {
    if (!messages.is_array()) {
        fail(ErrorCode::invalid_argument, "the messages must be a list, not {}", messages.type_name());
    }
    std::vector<jinja::Value> items;
    items.reserve(messages.size());
    for (const auto& message : messages) items.push_back(convert_message(message));
    return jinja::Value::list(std::move(items)).mark_content(true);
}

void define_inputs(jinja::Evaluator& evaluator, const ChatInput& input) {
    for (const auto& [name, text] : input.special_tokens) evaluator.define(name, jinja::Value::literal(text));
    if (evaluator.mentions("messages")) evaluator.define("messages", convert_messages(input.messages));
    if (evaluator.mentions("tools")) evaluator.define("tools", jinja::Value::from_json(input.tools));
    if (evaluator.mentions("documents")) evaluator.define("documents", jinja::Value::from_json(input.documents));
    evaluator.define("add_generation_prompt", jinja::Value::boolean(input.add_generation_prompt));
    if (input.extra.is_null()) return;
    if (!input.extra.is_object()) {
        fail(ErrorCode::invalid_argument, "the template's variables must be an object, not {}",
             input.extra.type_name());
    }
    static constexpr std::string_view kOwnNames[] = {"messages", "tools", "documents", "add_generation_prompt"};
    for (const auto& [name, value] : input.extra.items()) {
        if (std::find(std::begin(kOwnNames), std::end(kOwnNames), name) != std::end(kOwnNames)) {
            fail(ErrorCode::invalid_argument,
                 "the template's variables must not name {}, which the request itself sets", name);
        }
        if (evaluator.mentions(name)) evaluator.define(name, jinja::Value::from_json(value));
    }
}

[[noreturn]] void refuse_field(const std::string& field, const ordered_json* value, const char* expected) {
    const char* found = value == nullptr ? "missing" : value->type_name();
    fail(ErrorCode::invalid_argument, "{} is {}; expected {}", field, found, expected);
}

// nullptr when absent or null.
const ordered_json* find_field(const ordered_json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

void require_text(const ordered_json& object, const std::string& path, const char* key) {
    const ordered_json* value = find_field(object, key);
    if (value == nullptr || !value->is_string()) refuse_field(path + "." + key, value, "text");
}

void check_content(const ordered_json& message, const std::string& path) {
    const ordered_json* content = find_field(message, "content");
    if (content == nullptr || content->is_string()) return;
    if (!content->is_array()) refuse_field(path + ".content", content, "text, a list of parts, or null");
    for (size_t i = 0; i < content->size(); ++i) {
        const std::string part = fmt::format("{}.content[{}]", path, i);
        const ordered_json& value = (*content)[i];
        if (!value.is_object()) refuse_field(part, &value, "an object with a type");
        require_text(value, part, "type");
        if (value["type"] == "text") require_text(value, part, "text");
    }
}

// Text becomes the object it spells.
void prepare_call(ordered_json& call, const std::string& path) {
    if (!call.is_object()) refuse_field(path, &call, "an object with a function");
    // Some clients leave out the level "function".
    const bool nested = call.contains("function");
    ordered_json& function = nested ? call["function"] : call;
    const std::string where = nested ? path + ".function" : path;
    if (!function.is_object()) refuse_field(where, &function, "an object with a name");
    require_text(function, where, "name");
    const auto arguments = function.find("arguments");
    if (arguments == function.end() || arguments->is_null() || arguments->is_object()) return;
    if (!arguments->is_string()) refuse_field(where + ".arguments", &*arguments, "an object, or its JSON text");
    const std::string text = arguments->get<std::string>();
    const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
    ordered_json parsed = blank ? ordered_json::object() : parse_json(text);
    if (!parsed.is_object()) {
        fail(ErrorCode::invalid_argument, "{}.arguments is not the text of a JSON object", where);
    }
    *arguments = std::move(parsed);
}

void prepare_message(ordered_json& message, const std::string& path) {
    if (!message.is_object()) refuse_field(path, &message, "an object with a role");
    require_text(message, path, "role");
    check_content(message, path);
    for (const char* key : {"reasoning_content", "reasoning", "name", "tool_call_id"}) {
        if (find_field(message, key) != nullptr) require_text(message, path, key);
    }
    if (find_field(message, "tool_calls") == nullptr) return;
    ordered_json& calls = message["tool_calls"];
    if (!calls.is_array()) refuse_field(path + ".tool_calls", &calls, "a list of calls");
    for (size_t i = 0; i < calls.size(); ++i) prepare_call(calls[i], fmt::format("{}.tool_calls[{}]", path, i));
}

}  // namespace

struct ChatTemplate::Program {
    jinja::Template tree;
};

ChatTemplate::ChatTemplate(std::string_view source) {
    for (size_t at = 0; at < source.size();) {
        const Utf8Step step = utf8_step(source, at);
        if (step.kind != Utf8Step::character) {
            fail(ErrorCode::unsupported, "byte {} is not UTF-8; expected a template in UTF-8", at);
        }
        at += step.length;
    }
    program_ = std::make_unique<const Program>(Program{jinja::parse_template(source)});
}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

RenderedPrompt ChatTemplate::render(const ChatInput& input) const {
    jinja::Evaluator evaluator(program_->tree, jinja::RenderLimits{}, input.now.value_or(std::time(nullptr)));
    try {
        define_inputs(evaluator, input);
    } catch (const jinja::Fault& too_deep) {
        fail(ErrorCode::invalid_argument, "the messages, tools or variables cannot be rendered: {}", too_deep.what());
    }
    const jinja::Text text = evaluator.render();
    return {text.bytes(), text.content_spans()};
}

bool ChatTemplate::mentions(std::string_view variable) const {
    const auto& names = program_->tree.names;
    return std::find(names.begin(), names.end(), variable) != names.end();
}

ordered_json prepare_messages(ordered_json messages) {
    if (!messages.is_array()) refuse_field("messages", &messages, "a list of messages");
    for (size_t i = 0; i < messages.size(); ++i) prepare_message(messages[i], fmt::format("messages[{}]", i));
    return messages;
}

}  // namespace colugo
