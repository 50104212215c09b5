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

template <typename Value>
ByteGrammar json_grammar(int32_t thought_end, Value&& value) {
    GrammarBuilder builder;
    JsonGrammar json(builder);
    const uint32_t begin = builder.add_node(), end = builder.add_node();
    builder.node(end).accepts = true;
    value(json, begin, end);
    const uint32_t answer = behind_line_breaks(builder, begin);
    return builder.finish(behind_thoughts(builder, thought_end, answer, false));
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

}  // namespace

ByteGrammar json_schema_grammar(const nlohmann::ordered_json& schema, int32_t thought_end, std::string name) {
    const SchemaDocument document(schema, std::move(name));
    return json_grammar(thought_end, [&](JsonGrammar& json, uint32_t from, uint32_t to) {
        SchemaCompiler compiler(json, document);
        compiler.value(document.root(), from, to);
        compiler.compile_references();
    });
}

ByteGrammar json_object_grammar(int32_t thought_end) {
    return json_grammar(thought_end, [](JsonGrammar& json, uint32_t from, uint32_t to) { json.any_object(from, to); });
}

ByteGrammar call_grammar(std::span<const CallTool> tools, const CallRules& rules, int32_t thought_end) {
    using Choice = CallRules::Choice;
    COLUGO_CHECK(rules.open != kNoToken && (rules.choice == Choice::none || rules.close != kNoToken));
    if (tools.empty() && rules.choice == Choice::required)
        fail(ErrorCode::invalid_argument, "a tool call is required, but there are no tools");
    GrammarBuilder builder;
    const bool free = rules.choice != Choice::required;
    const uint32_t answer = builder.add_node();
    builder.node(answer).any = free;
    builder.node(answer).accepts = free;
    const uint32_t start =
        behind_thoughts(builder, thought_end, free ? answer : behind_line_breaks(builder, answer), free);
    uint32_t inside = ByteGrammar::kNowhere;
    if (rules.choice != Choice::none && !tools.empty()) {
        inside = builder.add_node();
        const uint32_t end = builder.add_node(), called = builder.add_node(), again = builder.add_node();
        functions(builder, tools, inside, end);
        builder.token(end, rules.close, called);
        builder.node(called).accepts = true;
        if (rules.parallel) {
            builder.byte(called, '\n', again);
            builder.token(again, rules.open, inside);
        }
    }
    builder.token(answer, rules.open, inside);
    if (start != answer && thought_end != kNoToken) builder.token(start, rules.open, inside);
    return builder.finish(start);
}

}  // namespace colugo
