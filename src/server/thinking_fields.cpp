#include "server/thinking_fields.h"

#include <algorithm>
#include <array>

#include "server/api_error.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr std::array<std::string_view, 7> kEfforts = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
// What a request says elsewhere.
constexpr const char* kOwnVariables[] = {"messages", "tools", "documents", "add_generation_prompt"};

struct Thinking {
    std::optional<bool> enabled;
    std::optional<std::string> effort;
};

std::optional<std::string> read_effort(RequestFields& fields, std::string_view name) {
    const std::optional<std::string> effort = fields.string(name);
    if (effort && std::find(kEfforts.begin(), kEfforts.end(), *effort) == kEfforts.end()) {
        fields.refuse_value(name, "none, minimal, low, medium, high, xhigh or max");
    }
    return effort;
}

// What other fields say counts only where these say nothing.
Thinking read_reasoning(RequestFields& fields) {
    Thinking thinking;
    thinking.effort = read_effort(fields, "reasoning_effort");
    if (std::optional<RequestFields> reasoning = fields.object("reasoning")) {
        if (const auto effort = read_effort(*reasoning, "effort")) thinking.effort = effort;
        if (reasoning->has("max_tokens"))
            reasoning->refuse_value("max_tokens", "none: a thought has no limit of its own");
        if (reasoning->boolean("exclude").value_or(false)) reasoning->refuse_value("exclude", "false");
        thinking.enabled = reasoning->boolean("enabled");
    }
    if (thinking.effort && !thinking.enabled) thinking.enabled = *thinking.effort != "none";
    return thinking;
}

std::optional<bool> read_thinking_type(RequestFields& fields) {
    std::optional<RequestFields> thinking = fields.object("thinking");
    if (!thinking) return std::nullopt;
    if (thinking->has("budget_tokens")) {
        thinking->refuse_value("budget_tokens", "none: a thought has no limit of its own");
    }
    const std::string type = thinking->required_string("type");
    if (type == "adaptive") return std::nullopt;
    if (type != "enabled" && type != "disabled") thinking->refuse_value("type", "enabled, disabled or adaptive");
    return type == "enabled";
}

}  // namespace

ordered_json read_template_variables(RequestFields& fields, std::optional<bool> by_default) {
    Thinking thinking = read_reasoning(fields);
    if (!thinking.enabled) thinking.enabled = by_default;
    if (const auto enabled = read_thinking_type(fields)) thinking.enabled = enabled;
    if (const auto enabled = fields.boolean("enable_thinking")) thinking.enabled = enabled;
    ordered_json variables = ordered_json::object();
    if (std::optional<RequestFields> given = fields.object("chat_template_kwargs")) {
        for (const char* name : kOwnVariables) {
            if (given->has(name)) given->refuse_value(name, "the request's own field");
        }
        given->boolean("enable_thinking");
        for (const auto& [name, value] : fields.get("chat_template_kwargs")->items()) {
            if (!value.is_null()) variables[name] = value;
        }
    }
    const auto add = [&](const char* name, const ordered_json& value) {
        if (!variables.contains(name)) variables[name] = value;
    };
    if (thinking.enabled) add("enable_thinking", *thinking.enabled);
    if (thinking.effort && *thinking.effort != "none") add("reasoning_effort", *thinking.effort);
    return variables;
}

}  // namespace colugo
