#include "sampling/call_compiler.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "sampling/call_tags.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;
using Characters = RawTextGrammar::Characters;

// What no name has in it, since readers of calls would not take it for one.
constexpr std::string_view kNoName = "<>=\"'{}[]()";

void check_name(std::string_view name, std::string_view what) {
    code_points(name, what);
    const bool writable = std::all_of(name.begin(), name.end(), [](char c) {
        return static_cast<uint8_t>(c) > ' ' && kNoName.find(c) == std::string_view::npos;
    });
    if (name.empty() || name.size() > 256 || !writable)
        fail(ErrorCode::invalid_argument, "{} \"{}\" cannot be written in a call", what, excerpt(name));
}

// Nothing is said of its values.
bool is_open(const SchemaLeaf& leaf) {
    return leaf.types == kAllTypes && !leaf.place.has("type") && !leaf.place.has("enum") && !leaf.place.has("const");
}

// Values of this type are right whatever they are.
bool any_will_do(const SchemaPlace& place, SchemaTypes type) {
    if (place.has("enum") || place.has("const")) return type == kNullType;
    if (type == kArrayType || type == kObjectType) return false;
    for (const char* keyword : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
        if (place.has(keyword)) return false;
    return true;
}

// What a text must not begin with if it is to stay one: readers try the other types first. Where any value of a type
// will do, so will the text that turns out to be one.
Characters barred_beginnings(const SchemaDocument& document, const std::vector<SchemaLeaf>& leaves) {
    Characters barred;
    const auto bar = [&](std::string_view characters) {
        for (const char c : characters) barred.set(static_cast<uint8_t>(c));
    };
    for (const SchemaLeaf& leaf : leaves)
        for (const auto& [type, beginnings] :
             {std::pair{kBooleanType, "tTfF"}, std::pair{kIntegerType, "-0123456789"},
              std::pair{kNumberType, "-0123456789"}, std::pair{kArrayType, "[({"}, std::pair{kObjectType, "[({"}}) {
            const bool there = document.is_enumeration(leaf.place) ? !document.values(leaf.place, type).empty()
                                                                   : (leaf.types & type) != 0;
            if (there && !any_will_do(leaf.place, type)) bar(beginnings);
        }
    if (barred.any()) bar(" \t\r\n");
    return barred;
}

}  // namespace

void CallCompiler::function(const CallTool& tool, uint32_t from, uint32_t to) {
    check_name(tool.name, "the tool");
    const uint32_t named = builder_.add_node(), last = builder_.add_node();
    builder_.literal(from, tool.name + ">\n", named);
    if (tool.strict)
        strict_parameters(tool, named, last);
    else
        loose_parameters(named, last);
    builder_.literal(last, "</function>\n", to);
}

void CallCompiler::loose_parameters(uint32_t from, uint32_t to) {
    const uint32_t next = builder_.add_node(), key = builder_.add_node(), named = builder_.add_node(),
                   behind = builder_.add_node(), ended = builder_.add_node();
    builder_.empty(from, next);
    builder_.empty(next, to);
    builder_.literal(next, "<parameter=", key);
    for (const uint32_t node : {key, named}) {
        for (char c = '!'; c < 0x7F; ++c)
            if (kNoName.find(c) == std::string_view::npos) builder_.byte(node, c, named);
        json_.wide(node, named);
    }
    builder_.literal(named, ">\n", behind);
    text_.of_length(behind, 0, kNoMaximum, {}, ended);
    builder_.byte(ended, '\n', next);
}

void CallCompiler::strict_parameters(const CallTool& tool, uint32_t from, uint32_t to) {
    static const ordered_json kNone = ordered_json::object();
    const SchemaDocument document(tool.parameters.is_null() ? kNone : tool.parameters,
                                  fmt::format("the parameters of tool \"{}\"", tool.name));
    SchemaCompiler compiler(json_, document);
    const std::vector<SchemaLeaf> leaves = compiler.leaves(document.root());
    if (leaves.size() != 1 || (leaves[0].types & kObjectType) == 0 || document.is_enumeration(leaves[0].place))
        fail(ErrorCode::invalid_argument, "{}: the schema is not that of an object", document.name());
    for (const SchemaProperty& property : read_object(document, leaves[0].place).properties) {
        check_name(property.name, "the parameter");
        const uint32_t next = builder_.add_node(), named = builder_.add_node(), ended = builder_.add_node();
        builder_.literal(from, "<parameter=" + property.name + ">\n", named);
        value(compiler, document, property.schema, named, ended);
        builder_.byte(ended, '\n', next);
        if (!property.required) builder_.empty(from, next);
        from = next;
    }
    builder_.empty(from, to);
    compiler.compile_references();
}

void CallCompiler::value(SchemaCompiler& compiler, const SchemaDocument& document, const SchemaPlace& place,
                         uint32_t from, uint32_t to) {
    const std::vector<SchemaLeaf> leaves = compiler.leaves(place);
    if (std::any_of(leaves.begin(), leaves.end(), is_open)) return text_.of_length(from, 0, kNoMaximum, {}, to);
    const Characters barred = barred_beginnings(document, leaves);
    constexpr SchemaTypes kOthers = kAllTypes & static_cast<SchemaTypes>(~kStringType);
    for (const SchemaLeaf& leaf : leaves) {
        if (leaf.types & kStringType) text(compiler, document, leaf, barred, from, to);
        if ((leaf.types & kOthers) == 0) continue;
        const uint32_t end = builder_.add_node();
        compiler.values_of_types(leaf, kOthers, from, end);
        builder_.literal(end, kParameterEnd, to);
    }
}

void CallCompiler::text(SchemaCompiler& compiler, const SchemaDocument& document, const SchemaLeaf& leaf,
                        const Characters& barred, uint32_t from, uint32_t to) {
    if (document.is_enumeration(leaf.place)) {
        std::vector<std::string> words;
        for (const ordered_json* value : document.values(leaf.place, kStringType))
            words.push_back(value->get<std::string>());
        return text_.words(from, words, barred, to);
    }
    const SchemaStrings strings = compiler.strings(leaf.place);
    constexpr uint32_t kMax = RawTextGrammar::kMaxCountedLength;
    if (!strings.automaton && (strings.min > kMax || (strings.max > kMax && strings.max != kNoMaximum)))
        document.refuse(leaf.place, strings.max != kNoMaximum ? "maxLength" : "minLength",
                        "is more than {}, which is not supported for a text in a call", kMax);
    if (strings.automaton)
        text_.taken_by(from, *strings.automaton, barred,
                       document.subject(leaf.place, leaf.place.has("pattern") ? "pattern" : "format"), to);
    else
        text_.of_length(from, strings.min, strings.max, barred, to);
}

}  // namespace colugo
