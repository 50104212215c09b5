#include "sampling/reply_grammar.h"

#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "sampling/call_compiler.h"
#include "sampling/grammar_builder.h"
#include "sampling/json_grammar.h"
#include "sampling/schema_compiler.h"

namespace colugo {
namespace {

// Behind its thoughts, if any, the reply is what begins at `answer`. During thoughts the reply may end where the answer
// may be empty. Returns where it begins.
uint32_t behind_thoughts(GrammarBuilder& builder, int32_t thought_end, uint32_t answer, bool may_be_empty) {
    if (thought_end == kNoToken) return answer;
    const uint32_t thoughts = builder.add_node();
    builder.node(thoughts).any = true;
    builder.node(thoughts).accepts = may_be_empty;
    builder.token(thoughts, thought_end, answer);
    return thoughts;
}

uint32_t behind_line_breaks(GrammarBuilder& builder, uint32_t answer) {
    const uint32_t first = builder.add_node(), second = builder.add_node();
    builder.empty(first, answer);
    builder.byte(first, '\n', second);
    builder.empty(second, answer);
    builder.byte(second, '\n', answer);
    return first;
}

// Up to the reply's end: a value that the schema allows; without one, any object.
void json_text(GrammarBuilder& builder, const nlohmann::ordered_json* schema, std::string name, uint32_t from) {
    JsonGrammar json(builder);
    const uint32_t end = builder.add_node();
    builder.node(end).accepts = true;
    if (schema == nullptr) return json.any_object(from, end);
    const SchemaDocument document(*schema, std::move(name));
    SchemaCompiler compiler(json, document);
    compiler.value(document.root(), from, end);
    compiler.compile_references();
}

ByteGrammar json_grammar(const nlohmann::ordered_json* schema, int32_t thought_end, std::string name) {
    GrammarBuilder builder;
    const uint32_t answer = builder.add_node();
    json_text(builder, schema, std::move(name), answer);
    return builder.finish(behind_thoughts(builder, thought_end, behind_line_breaks(builder, answer), false));
}

void functions(GrammarBuilder& builder, std::span<const CallTool> tools, uint32_t from, uint32_t to) {
    JsonGrammar json(builder, JsonGrammar::Place::in_call);
    CallCompiler compiler(json);
    std::unordered_set<std::string> names;
    const uint32_t named = builder.add_node();
    builder.literal(from, "\n<function=", named);
    for (const CallTool& tool : tools) {
        if (!names.insert(tool.name).second) fail(ErrorCode::invalid_argument, "there are two tools \"{}\"", tool.name);
        compiler.function(tool, named, to);
    }
}

// The calls of a reply, up to its end; where the first of them is, behind the token that opens it.
uint32_t calls(GrammarBuilder& builder, std::span<const CallTool> tools, const CallRules& rules) {
    if (tools.empty()) return ByteGrammar::kNowhere;
    const uint32_t inside = builder.add_node(), end = builder.add_node(), called = builder.add_node();
    functions(builder, tools, inside, end);
    builder.token(end, rules.close, called);
    builder.node(called).accepts = true;
    if (rules.parallel) {
        const uint32_t again = builder.add_node();
        builder.byte(called, '\n', again);
        builder.token(again, rules.open, inside);
    }
    return inside;
}

// A reply that is what begins at `answer`, or calls. free: the answer is any text.
ByteGrammar with_calls(GrammarBuilder& builder, uint32_t answer, bool free, std::span<const CallTool> tools,
                       const CallRules& rules, int32_t thought_end) {
    builder.node(answer).any = free;
    builder.node(answer).accepts = free;
    const uint32_t start =
        behind_thoughts(builder, thought_end, free ? answer : behind_line_breaks(builder, answer), free);
    const uint32_t inside = calls(builder, tools, rules);
    builder.token(answer, rules.open, inside);
    if (thought_end != kNoToken) builder.token(start, rules.open, inside);
    return builder.finish(start);
}

// Any text, in which the tokens of calls and thoughts are none; behind thoughts where the reply begins within some, or
// may begin with some.
ByteGrammar text_without_calls(const CallRules& rules, int32_t thought_end) {
    GrammarBuilder builder;
    const auto free_node = [&] {
        const uint32_t node = builder.add_node();
        builder.node(node).any = true;
        builder.node(node).accepts = true;
        for (const int32_t token : {rules.open, rules.close, rules.think}) {
            if (token != kNoToken) builder.token(node, token, ByteGrammar::kNowhere);
        }
        return node;
    };
    const uint32_t answer = free_node(), thoughts = free_node();
    const int32_t end = thought_end != kNoToken ? thought_end : rules.end_think;
    if (end != kNoToken) builder.token(thoughts, end, answer);
    if (thought_end != kNoToken) return builder.finish(thoughts);
    if (!rules.may_begin_thought) return builder.finish(answer);
    const uint32_t start = builder.add_node();
    builder.empty(start, answer);
    if (rules.think != kNoToken) builder.token(start, rules.think, thoughts);
    return builder.finish(start);
}

void check(const CallRules& rules) {
    COLUGO_CHECK(rules.open != kNoToken && (rules.choice == CallRules::Choice::none || rules.close != kNoToken));
}

}  // namespace

ByteGrammar json_schema_grammar(const nlohmann::ordered_json& schema, int32_t thought_end, std::string name) {
    return json_grammar(&schema, thought_end, std::move(name));
}

ByteGrammar json_object_grammar(int32_t thought_end) {
    return json_grammar(nullptr, thought_end, {});
}

ByteGrammar call_grammar(std::span<const CallTool> tools, const CallRules& rules, int32_t thought_end) {
    check(rules);
    const bool required = rules.choice == CallRules::Choice::required;
    if (rules.choice == CallRules::Choice::none) return text_without_calls(rules, thought_end);
    if (tools.empty() && required) fail(ErrorCode::invalid_argument, "a tool call is required, but there are no tools");
    GrammarBuilder builder;
    const uint32_t answer = builder.add_node();
    return with_calls(builder, answer, !required, tools, rules, thought_end);
}

ByteGrammar json_or_call_grammar(const nlohmann::ordered_json* schema, std::span<const CallTool> tools,
                                 const CallRules& rules, int32_t thought_end, std::string name) {
    check(rules);
    COLUGO_CHECK(rules.choice == CallRules::Choice::automatic);
    GrammarBuilder builder;
    const uint32_t answer = builder.add_node();
    json_text(builder, schema, std::move(name), answer);
    return with_calls(builder, answer, false, tools, rules, thought_end);
}

}  // namespace colugo
