#include "server/reply_form.h"

#include <algorithm>

#include "server/api_error.h"
#include "server/replay_output.h"
#include "text/reply_reader.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr int64_t kCacheBytes = 64 << 20;

bool is_strict(const ordered_json& tool) {
    const ordered_json& function = tool.at("function");
    return function.contains("strict") && function["strict"] == true;
}

// strict: whatever the tools say, else as they say.
std::vector<CallTool> call_tools(const ToolFields& fields, bool strict) {
    std::vector<CallTool> tools;
    for (const ordered_json& tool : fields.tools) {
        const ordered_json& function = tool.at("function");
        const std::string name = function.at("name");
        if (fields.choice.kind == ToolChoice::Kind::named && name != fields.choice.name) continue;
        tools.push_back({.name = name,
                         .parameters = function.contains("parameters") ? function["parameters"] : ordered_json(),
                         .strict = strict || is_strict(tool)});
    }
    return tools;
}

// What the client is told of a schema that is not supported.
template <typename Compile>
auto compiled(const char* param, const Compile& compile) {
    try {
        return compile();
    } catch (const Error& error) {
        throw ApiError(400, "unsupported_value", param, error.what());
    }
}

std::shared_ptr<const GrammarVocabulary> vocabulary_of(const Tokenizer& tokenizer, int64_t vocab_size) {
    return std::make_shared<const GrammarVocabulary>(vocab_size, [&](int32_t id) -> VocabularyToken {
        return {.bytes = tokenizer.token_bytes(id), .control = tokenizer.is_control(id)};
    });
}

}  // namespace

ReplyForms::ReplyForms(const Tokenizer& tokenizer, int64_t vocab_size, std::vector<int32_t> stop_ids)
    : tokenizer_(tokenizer),
      stop_ids_(std::move(stop_ids)),
      cache_(vocabulary_of(tokenizer, vocab_size), stop_ids_, kCacheBytes) {}

std::shared_ptr<TokenGrammar> ReplyForms::make(const ChatRequest& request, Begin begin) {
    using Kind = ToolChoice::Kind;
    const int32_t thought_end = begin == Begin::within_thought ? tokenizer_.find("</think>").value() : kNoToken;
    const ToolFields& tools = request.tools;
    const ResponseFormat& form = request.generation.response_format;
    const Kind choice = tools.choice.kind;
    if (form.kind == ResponseFormat::Kind::text || choice == Kind::required || choice == Kind::named) {
        if (tools.tools.empty()) return nullptr;
        return choice == Kind::none ? no_calls(tools, begin, thought_end) : calls(tools, thought_end);
    }
    if (tools.tools.empty() || choice == Kind::none) return format(form, thought_end);
    return format_or_calls(form, tools, thought_end);
}

OutputParser::Thought ReplyForms::hold_reply(const ModelText& text, const ChatRequest& chat, const ChatInput& input,
                                             const std::vector<double>& acceptance, Request& request) {
    const bool may_think = text.template_mentions("enable_thinking", input);
    const OutputParser::Thought thought = thought_behind(tokenizer_, request.prompt, may_think);
    if (chat.replay_output) {
        request.replay = {replay_tokens(text, chat, *chat.replay_output, request.prompt, stop_ids_), acceptance};
    } else {
        const bool is_over = ends_behind_thought(tokenizer_, request.prompt);
        request.grammar = make(chat, thought == OutputParser::Thought::open ? Begin::within_thought
                                     : is_over                              ? Begin::behind_thought
                                                                            : Begin::anywhere);
    }
    return thought;
}

std::shared_ptr<TokenGrammar> ReplyForms::format(const ResponseFormat& format, int32_t thought_end) {
    const std::string key = ordered_json{{"format", format.schema}, {"behind", thought_end}}.dump();
    return compiled("response_format", [&] {
        return cache_.get(key, [&] {
            return format.kind == ResponseFormat::Kind::json_object ? json_object_grammar(thought_end)
                                                                    : json_schema_grammar(format.schema, thought_end);
        });
    });
}

std::shared_ptr<TokenGrammar> ReplyForms::format_or_calls(const ResponseFormat& form, const ToolFields& fields,
                                                          int32_t thought_end) {
    const CallRules rules = call_rules(fields);
    const ordered_json key = {
        {"format", form.schema}, {"tools", fields.tools}, {"parallel", rules.parallel}, {"behind", thought_end}};
    const bool any_object = form.kind == ResponseFormat::Kind::json_object;
    return compiled("tools", [&] {
        try {
            return cache_.get(key.dump(), [&] {
                return json_or_call_grammar(any_object ? nullptr : &form.schema, call_tools(fields, false), rules,
                                            thought_end);
            });
        } catch (const Error&) {
            format(form, thought_end);  // throws where the form is what cannot be had
            throw;
        }
    });
}

bool ReplyForms::has_call_tokens() const {
    return tokenizer_.find("<tool_call>") && tokenizer_.find("</tool_call>");
}

CallRules ReplyForms::call_rules(const ToolFields& fields) const {
    using Kind = ToolChoice::Kind;
    const Kind kind = fields.choice.kind;
    if (!has_call_tokens()) {
        refuse("unsupported_value", "tool_choice",
               "the model has no tokens for calls, which therefore cannot be held to a form");
    }
    const bool forced = kind == Kind::required || kind == Kind::named;
    return {.choice = forced               ? CallRules::Choice::required
                      : kind == Kind::none ? CallRules::Choice::none
                                           : CallRules::Choice::automatic,
            .parallel = fields.parallel_calls && kind != Kind::named,
            .open = tokenizer_.find("<tool_call>").value(),
            .close = tokenizer_.find("</tool_call>").value(),
            .think = tokenizer_.find("<think>").value_or(kNoToken),
            .end_think = tokenizer_.find("</think>").value_or(kNoToken)};
}

std::shared_ptr<TokenGrammar> ReplyForms::no_calls(const ToolFields& fields, Begin begin, int32_t thought_end) {
    if (!has_call_tokens()) return nullptr;
    const auto key = ordered_json{{"none", static_cast<int>(begin)}}.dump();
    return cache_.get(key, [&] {
        CallRules rules = call_rules(fields);
        rules.may_begin_thought = begin != Begin::behind_thought;
        return call_grammar({}, rules, thought_end);
    });
}

std::shared_ptr<TokenGrammar> ReplyForms::calls(const ToolFields& fields, int32_t thought_end) {
    using Kind = ToolChoice::Kind;
    const Kind kind = fields.choice.kind;
    const auto& tools = fields.tools;
    if (kind == Kind::automatic && std::none_of(tools.begin(), tools.end(), is_strict)) return nullptr;
    const CallRules rules = call_rules(fields);
    const auto grammar_of = [&](bool strict) {
        const ordered_json key = {{"tools", tools},
                                  {"choice", static_cast<int>(kind)},
                                  {"name", fields.choice.name},
                                  {"parallel", rules.parallel},
                                  {"strict", strict},
                                  {"behind", thought_end}};
        return cache_.get(key.dump(), [&] { return call_grammar(call_tools(fields, strict), rules, thought_end); });
    };
    // A forced call follows the schema where that can be; a tool that is not strict does not have to have such a one.
    if (kind != Kind::automatic) {
        try {
            return grammar_of(true);
        } catch (const Error&) {
        }
    }
    return compiled("tools", [&] { return grammar_of(false); });
}

}  // namespace colugo
