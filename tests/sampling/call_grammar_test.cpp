// Calls in the model's own syntax: <+> and <-> are the control tokens that open and close one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sampling/grammar_harness.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using testing::accepts;
using testing::begins;
using testing::json;
using Json = nlohmann::ordered_json;
using Choice = CallRules::Choice;

TokenGrammar calls(const std::vector<CallTool>& tools, Choice choice = Choice::required, bool parallel = true,
                   int32_t thought_end = kNoToken) {
    return testing::token_grammar(call_grammar(
        tools, {.choice = choice, .parallel = parallel, .open = testing::tool_open(), .close = testing::tool_close()},
        thought_end));
}

CallTool tool(const std::string& parameters) {
    return {"f", json(parameters)};
}

std::string call(const std::string& parameters, const std::string& name = "f") {
    return "<+>\n<function=" + name + ">\n" + parameters + "</function>\n<->";
}

std::string parameter(const std::string& key, const std::string& value) {
    return "<parameter=" + key + ">\n" + value + "\n</parameter>\n";
}

// Whether the one parameter may have this value.
bool takes(const std::string& schema, const std::string& value) {
    TokenGrammar grammar =
        calls({tool(R"({"type": "object", "properties": {"k": )" + schema + R"(}, "required": ["k"]})")});
    return accepts(grammar, call(parameter("k", value)));
}

TEST(CallGrammar, WritesOneOfTheTools) {
    TokenGrammar grammar = calls({{"f", nullptr}, {"find_it", json(R"({"type": "object", "properties": {}})")}});
    EXPECT_TRUE(accepts(grammar, call("", "f")));
    EXPECT_TRUE(accepts(grammar, "\n\n" + call("", "find_it")));
    EXPECT_TRUE(accepts(grammar, call("", "f") + "\n" + call("", "f") + "\n" + call("", "find_it")));
    EXPECT_FALSE(accepts(grammar, call("", "fi")));
    EXPECT_FALSE(accepts(grammar, call(parameter("x", "1"), "f")));
    EXPECT_FALSE(accepts(grammar, call("", "f") + call("", "f")));
    EXPECT_FALSE(accepts(grammar, call("", "f") + "\n"));
    for (const char* text : {"", "Hi", "<+>", "<+>\n<function=f>\n</function>\n", "<+><function=f>\n</function>\n<->"})
        EXPECT_FALSE(accepts(grammar, text)) << text;
}

TEST(CallGrammar, HoldsToOneCallWhereTheyAreNotParallel) {
    TokenGrammar grammar = calls({{"f", nullptr}}, Choice::required, false);
    EXPECT_TRUE(accepts(grammar, call("")));
    EXPECT_FALSE(begins(grammar, call("") + "\n"));
}

TEST(CallGrammar, WritesParametersInOrder) {
    TokenGrammar grammar = calls({tool(
        R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "boolean"}},
                                           "required": ["b", "more"]})")});
    const std::string more = parameter("more", "x");
    EXPECT_TRUE(accepts(grammar, call(parameter("b", "5") + more)));
    EXPECT_TRUE(accepts(grammar, call(parameter("a", "x\ny") + parameter("b", "-5") + parameter("c", "true") + more)));
    EXPECT_FALSE(accepts(grammar, call(parameter("b", "5"))));
    EXPECT_FALSE(accepts(grammar, call(parameter("a", "5") + more)));
    EXPECT_FALSE(accepts(grammar, call(parameter("b", "5") + parameter("a", "5") + more)));
    EXPECT_FALSE(accepts(grammar, call(parameter("b", "x") + more)));
}

TEST(CallGrammar, WritesStringsAsTheyAre) {
    const std::string text = R"({"type": "string"})";
    for (const char* value :
         {"", "x", "\"quoted\" \\ {\n  \"a\": 1\n}", "\n", "\n\n", "a\n</para", "</function>\n", "x\n</parameter\n",
          "<html>\n<b>\n</b>\n</html>", "null", "\xE2\x82\xAC", "\x01", " lead and trail "})
        EXPECT_TRUE(takes(text, value)) << value;
    for (const char* value :
         {"\xFF", "\xE2\x82", "\xED\xA0\x80", "a\n</parameter>\nb", "</parameter>", "</parameter>\n", "\n</parameter>",
          "a</parameter>b", "<parameter=x>", "\n<parameter=", "<<function=f>"})
        EXPECT_FALSE(takes(text, value)) << value;
    for (const char* schema : {"{}", "true", R"({"description": "d"})", R"({"anyOf": [{"type": "integer"}, {}]})"}) {
        EXPECT_TRUE(takes(schema, "anything {")) << schema;
        EXPECT_TRUE(takes(schema, "12")) << schema;
    }
}

TEST(CallGrammar, HoldsStringsToTheirSchema) {
    const std::string choice = R"({"enum": ["ab", "abc", "x\ny", ""]})";
    for (const char* value : {"ab", "abc", "x\ny", ""}) EXPECT_TRUE(takes(choice, value)) << value;
    for (const char* value : {"\"ab\"", "a", "abcd", "x"}) EXPECT_FALSE(takes(choice, value)) << value;
    EXPECT_TRUE(takes(R"({"const": "c"})", "c"));
    EXPECT_FALSE(takes(R"({"enum": ["a\n</parameter>b", "c"]})", "a\n</parameter>b"));
    const std::string pattern = R"({"type": "string", "pattern": "^\"?a[^b]*$", "maxLength": 20})";
    for (const char* value : {"a", "\"a", "a\n\n", "a\xE2\x82\xAC", "a\n</"})
        EXPECT_TRUE(takes(pattern, value)) << value;
    for (const char* value : {"b", "ab", "a\n</parameter>\n", "aaaaaaaaaaaaaaaaaaaaa"})
        EXPECT_FALSE(takes(pattern, value)) << value;
    EXPECT_TRUE(takes(R"({"type": "string", "format": "date"})", "2024-02-29"));
    EXPECT_FALSE(takes(R"({"type": "string", "format": "date"})", "2023-02-29"));
}

TEST(CallGrammar, CountsTheCharactersOfStrings) {
    const std::string schema = R"({"type": "string", "minLength": 2, "maxLength": 4})";
    for (const char* value : {"ab", "abcd", "\n\n", "a\n<b", "\xF0\x9F\x98\x80\xE2\x82\xAC", "\n</p", "</pa", "a\n"})
        EXPECT_TRUE(takes(schema, value)) << value;
    for (const char* value : {"", "a", "\n", "abcde", "\xF0\x9F\x98\x80", "\n</par", "a\n</parameter>\nb"})
        EXPECT_FALSE(takes(schema, value)) << value;
    const std::string least = R"({"type": "string", "minLength": 3})";
    for (const char* value : {"abc", "abcd\nefg", "<!d", "\n</param", "a\n</parameter"})
        EXPECT_TRUE(takes(least, value)) << value;
    for (const char* value : {"", "ab", "\n\n", "\n</parameter>\n", "</parameter>xyz"})
        EXPECT_FALSE(takes(least, value)) << value;
    EXPECT_TRUE(takes(R"({"type": "string", "maxLength": 0})", ""));
    EXPECT_FALSE(takes(R"({"type": "string", "maxLength": 0})", "a"));
    EXPECT_TRUE(takes(R"({"type": "string", "maxLength": 8192})", std::string(8192, 'y')));
    EXPECT_FALSE(takes(R"({"type": "string", "maxLength": 8192})", std::string(8193, 'y')));
}

TEST(CallGrammar, WritesOtherTypesAsJson) {
    EXPECT_TRUE(takes(R"({"type": "integer"})", "5"));
    EXPECT_FALSE(takes(R"({"type": "integer"})", "\"5\""));
    EXPECT_TRUE(takes(R"({"type": ["boolean", "null"]})", "false"));
    EXPECT_TRUE(takes(R"({"type": ["boolean", "null"]})", "null"));
    EXPECT_FALSE(takes(R"({"type": ["boolean", "null"]})", "None"));
    const std::string list = R"({"type": "array", "items": {"type": "string"}})";
    EXPECT_TRUE(takes(list, R"(["a", "b"])"));
    EXPECT_TRUE(takes(list, "[\n  \"<\\/parameter>\", \"<p></p>\"\n]"));
    // What readers look for is not written in strings either, but as an escape.
    for (const char* tag : {"</parameter>", "<parameter=", "<function="}) {
        EXPECT_FALSE(takes(list, fmt::format("[\"{}\"]", tag))) << tag;
        EXPECT_TRUE(takes(list, fmt::format("[\"\\u003c{}\"]", tag + 1))) << tag;
        EXPECT_FALSE(
            takes(R"({"type": "array", "items": {"type": "string", "maxLength": 20}})", fmt::format("[\"{}\"]", tag)));
        EXPECT_TRUE(takes(R"({"type": "array", "items": {"type": "string", "maxLength": 20}})",
                          fmt::format("[\"{:.8}\"]", tag)));
        EXPECT_FALSE(
            takes(R"({"type": "array", "items": {"type": "string", "minLength": 2}})", fmt::format("[\"<{}\"]", tag)));
        EXPECT_FALSE(
            takes(R"({"type": "array", "items": {"type": "string", "pattern": "="}})", fmt::format("[\"={}\"]", tag)));
        EXPECT_TRUE(takes(fmt::format(R"({{"const": ["{}"]}})", tag), fmt::format("[\"\\u003c{}\"]", tag + 1))) << tag;
        EXPECT_TRUE(takes(R"({"type": "object"})", fmt::format("{{\"\\u003c{}\": 1}}", tag + 1))) << tag;
        EXPECT_FALSE(takes(R"({"type": "object"})", fmt::format("{{\"{}\": 1}}", tag))) << tag;
    }
    EXPECT_FALSE(takes(list, "[1]"));
    EXPECT_TRUE(
        takes(R"({"type": "object", "properties": {"x": {"type": "null"}}, "required": ["x"]})", R"({"x": null})"));
    EXPECT_TRUE(takes(R"({"enum": [1, "a", null]})", "1"));
    EXPECT_TRUE(takes(R"({"enum": [1, "a", null]})", "a"));
    EXPECT_TRUE(takes(R"({"enum": [1, "a", null]})", "null"));
    EXPECT_FALSE(takes(R"({"enum": [1, "a", null]})", "2"));
    EXPECT_FALSE(takes(R"({"enum": [1, "a", null]})", "\"a\""));
}

TEST(CallGrammar, KeepsTextApartFromTheOtherTypesOfAUnion) {
    const std::string nullable = R"({"anyOf": [{"type": "string"}, {"type": "null"}]})";
    for (const char* value : {"null", "nullable thing", "5", "{"}) EXPECT_TRUE(takes(nullable, value)) << value;
    // Any number is right, so one that is meant as text is too; but not any list.
    EXPECT_TRUE(takes(R"({"type": ["string", "number"]})", "5 apples"));
    const std::string list = R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]})";
    for (const char* value : {"[1, 2]", "text", "5", "", "a{"}) EXPECT_TRUE(takes(list, value)) << value;
    for (const char* value : {"[\"a\"]", "[", "{", " [1", "\n[1"}) EXPECT_FALSE(takes(list, value)) << value;
    const std::string few = R"({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "minimum": 5}]})";
    for (const char* value : {"5", "abc", "x5", ""}) EXPECT_TRUE(takes(few, value)) << value;
    for (const char* value : {"4", "4 a", "abcd"}) EXPECT_FALSE(takes(few, value)) << value;
    EXPECT_FALSE(takes(R"({"anyOf": [{"enum": ["4", "a"]}, {"type": "integer", "minimum": 5}]})", "4"));
    EXPECT_FALSE(
        takes(R"({"anyOf": [{"pattern": "^[0-9a]$", "type": "string"}, {"type": "integer", "minimum": 5}]})", "4"));
    EXPECT_TRUE(
        takes(R"({"anyOf": [{"pattern": "^[0-9a]$", "type": "string"}, {"type": "integer", "minimum": 5}]})", "a"));
}

TEST(CallGrammar, FollowsReferences) {
    TokenGrammar grammar = calls({tool(
        R"({"$ref": "#/$defs/P", "$defs": {"S": {"type": "string"}, "L": {"type": "array", "items": {"$ref": "#/$defs/L"}},
        "P": {"type": "object", "properties": {"s": {"$ref": "#/$defs/S"}, "l": {"$ref": "#/$defs/L"}}, "required": ["s", "l"]}}})")});
    EXPECT_TRUE(accepts(grammar, call(parameter("s", "raw \"text\"") + parameter("l", "[[], []]"))));
    EXPECT_FALSE(accepts(grammar, call(parameter("s", "raw") + parameter("l", "[1]"))));
}

TEST(CallGrammar, LeavesAutomaticTextFree) {
    TokenGrammar grammar =
        calls({tool(R"({"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]})")},
              Choice::automatic);
    for (const char* text : {"", "Hello\n\n", "\xFF <tool_call>\n</tool_call>"})
        EXPECT_TRUE(accepts(grammar, text)) << text;
    EXPECT_TRUE(accepts(grammar, "Let me see.\n\n" + call(parameter("k", "5"))));
    EXPECT_FALSE(begins(grammar, "Hi<+>\n<function=g"));
    EXPECT_FALSE(begins(grammar, "Hi<+>\n<function=f>\n</"));
    EXPECT_FALSE(accepts(grammar, call(parameter("k", "5")) + "and text"));
    EXPECT_EQ(grammar.allowed(grammar.start()).count(), testing::vocabulary()->all().count());
}

TEST(CallGrammar, ForbidsCallsWhereThereAreNone) {
    for (const Choice choice : {Choice::none, Choice::automatic}) {
        TokenGrammar grammar = choice == Choice::none ? calls({{"f", nullptr}}, choice) : calls({}, choice);
        EXPECT_TRUE(accepts(grammar, "Hello <tool_call>"));
        EXPECT_FALSE(begins(grammar, "Hello <+>"));
        EXPECT_EQ(begins(grammar, "Hello <->"), choice == Choice::automatic);
        EXPECT_FALSE(grammar.allowed(grammar.start()).contains(testing::tool_open()));
        EXPECT_EQ(grammar.allowed(grammar.start()).count(),
                  testing::vocabulary()->all().count() - (choice == Choice::none ? 2 : 1));
    }
}

TEST(CallGrammar, LeavesThoughtsInTheirPlaceWhereThereAreNoCalls) {
    const int32_t think = testing::other_control(), end_think = testing::thought_end();
    for (const int32_t thought_end : {kNoToken, end_think}) {
        TokenGrammar grammar = testing::token_grammar(call_grammar({},
                                                                   {.choice = Choice::none,
                                                                    .open = testing::tool_open(),
                                                                    .close = testing::tool_close(),
                                                                    .think = think,
                                                                    .end_think = end_think},
                                                                   thought_end));
        const auto goes_on = [&](const std::vector<int32_t>& tokens) {
            return testing::state_after(grammar, tokens).has_value();
        };
        const bool begins_thinking = thought_end != kNoToken;
        EXPECT_EQ(goes_on({think}), !begins_thinking);
        std::vector<int32_t> tokens = begins_thinking ? std::vector<int32_t>{'H'} : std::vector<int32_t>{think, 'H'};
        EXPECT_TRUE(goes_on(tokens));
        for (const int32_t behind : {int32_t{'H'}, end_think, int32_t{'H'}}) {
            tokens.push_back(behind);
            EXPECT_TRUE(goes_on(tokens));
            for (const int32_t other : {think, testing::tool_open(), testing::tool_close()}) {
                std::vector<int32_t> longer = tokens;
                longer.push_back(other);
                EXPECT_FALSE(goes_on(longer)) << other;
            }
        }
        EXPECT_FALSE(goes_on({'H', think}));
    }
}

TEST(CallGrammar, LetsNoThoughtBeginBehindOneWhereThereAreNoCalls) {
    const int32_t think = testing::other_control(), end_think = testing::thought_end();
    TokenGrammar grammar = testing::token_grammar(call_grammar({}, {.choice = Choice::none,
                                                                    .open = testing::tool_open(),
                                                                    .close = testing::tool_close(),
                                                                    .think = think,
                                                                    .end_think = end_think,
                                                                    .may_begin_thought = false}));
    EXPECT_TRUE(accepts(grammar, "Hello <tool_call>"));
    for (const int32_t token : {think, testing::tool_open(), testing::tool_close()}) {
        EXPECT_FALSE(grammar.allowed(grammar.start()).contains(token)) << token;
    }
}

TEST(CallGrammar, LetsToolsThatAreNotStrictHaveAnyParameters) {
    TokenGrammar grammar = calls({{"f", json(R"({"not": {}})"), false}});
    EXPECT_TRUE(accepts(grammar, call("")));
    EXPECT_TRUE(accepts(grammar, call(parameter("a-b.c", "1") + parameter("\xC3\xA9", "x\ny"))));
    EXPECT_FALSE(begins(grammar, "<+>\n<function=f>\n<parameter=>"));
    EXPECT_FALSE(accepts(grammar, call("text")));
}

TEST(CallGrammar, BeginsBehindThoughts) {
    TokenGrammar required = calls({{"f", nullptr}}, Choice::required, true, testing::thought_end());
    EXPECT_TRUE(accepts(required, "Hm, \xFF<.>\n\n" + call("")));
    EXPECT_FALSE(accepts(required, "Hm"));
    EXPECT_FALSE(begins(required, "Hm<.>text"));
    // A call that is begun in the middle of a thought is one.
    EXPECT_TRUE(accepts(required, "Hm" + call("")));
    EXPECT_FALSE(begins(required, "Hm<+>text"));
    TokenGrammar automatic = calls({{"f", nullptr}}, Choice::automatic, true, testing::thought_end());
    EXPECT_TRUE(accepts(automatic, "Hm"));
    EXPECT_TRUE(accepts(automatic, "Hm<.>Text" + call("")));
    TokenGrammar none = calls({{"f", nullptr}}, Choice::none, true, testing::thought_end());
    EXPECT_FALSE(begins(none, "Hm<+>"));
    EXPECT_FALSE(begins(none, "Hm<.>Text<+>"));
}

TokenGrammar json_or_calls(const char* schema, bool parallel = true, int32_t thought_end = kNoToken) {
    const std::vector<CallTool> tools = {
        tool(R"({"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]})")};
    const Json parsed = schema != nullptr ? json(schema) : Json();
    return testing::token_grammar(json_or_call_grammar(
        schema != nullptr ? &parsed : nullptr, tools,
        {.parallel = parallel, .open = testing::tool_open(), .close = testing::tool_close()}, thought_end));
}

TEST(JsonOrCallGrammar, IsOneOrTheOther) {
    using Texts = std::vector<std::string>;
    const std::string one = call(parameter("k", "5")), two = one + "\n" + one;
    TokenGrammar schema = json_or_calls(R"({"type": "array", "items": {"type": "boolean"}, "minItems": 1})");
    for (const std::string& text : Texts{"[true]", "\n\n[\n  false, true\n]", one, "\n" + one, two})
        EXPECT_TRUE(accepts(schema, text)) << text;
    for (const std::string& text : Texts{"", "[]", "[1]", "Hi", "[true]" + one, "[true]\n" + one, one + "[true]",
                                         "[" + one, "text" + one, call(parameter("k", "x"))})
        EXPECT_FALSE(accepts(schema, text)) << text;
    TokenGrammar object = json_or_calls(nullptr, false);
    for (const std::string& text : Texts{"{}", R"({"a": [1, "<tool_call>"]})", one})
        EXPECT_TRUE(accepts(object, text)) << text;
    for (const std::string& text : Texts{"[]", "{}" + one, two}) EXPECT_FALSE(accepts(object, text)) << text;
}

TEST(JsonOrCallGrammar, BeginsBehindThoughts) {
    const std::string one = call(parameter("k", "5"));
    TokenGrammar grammar = json_or_calls(R"({"const": "x"})", true, testing::thought_end());
    for (const std::string& text : std::vector<std::string>{"{\xFF<.>\n\n\"x\"", "Hm<.>" + one, "Hm" + one})
        EXPECT_TRUE(accepts(grammar, text)) << text;
    for (const char* text : {"\"x\"", "Hm<.>", "Hm<.>y"}) EXPECT_FALSE(accepts(grammar, text)) << text;
    for (const char* text : {"Hm<.>\n\n\n", "Hm<.>\"x\"<+>"}) EXPECT_FALSE(begins(grammar, text)) << text;
}

TEST(JsonOrCallGrammar, RefusesWhatBothRefuse) {
    EXPECT_ERROR(ErrorCode::invalid_argument, "the schema: \"not\" at #/not", json_or_calls(R"({"not": {}})"));
    const std::vector<CallTool> tools = {tool(R"({"not": {}})")};
    const CallRules rules = {.open = testing::tool_open(), .close = testing::tool_close()};
    EXPECT_ERROR(ErrorCode::invalid_argument, "the parameters of tool \"f\": \"not\" at #/not",
                 json_or_call_grammar(nullptr, tools, rules));
}

TEST(CallGrammar, NamesWhatItRefuses) {
    EXPECT_ERROR(ErrorCode::invalid_argument, "there are no tools", calls({}));
    EXPECT_ERROR(ErrorCode::invalid_argument, "two tools \"f\"", calls({{"f", nullptr}, {"f", nullptr}}));
    for (const char* name : {"", "a>b", "a\nb", "<a", "a b", "f()", "\"f\""})
        EXPECT_ERROR(ErrorCode::invalid_argument, "cannot be written in a call", calls({{name, nullptr}}));
    EXPECT_ERROR(ErrorCode::invalid_argument, "the parameter \"a>b\"", calls({tool(R"({"properties": {"a>b": {}}})")}));
    EXPECT_ERROR(ErrorCode::invalid_argument,
                 "the parameters of tool \"f\": \"not\" at #/properties/k/not is not supported",
                 calls({tool(R"({"type": "object", "properties": {"k": {"not": {}}}})")}));
    EXPECT_ERROR(ErrorCode::invalid_argument, "\"uniqueItems\" at #/properties/k/uniqueItems",
                 calls({tool(R"({"properties": {"k": {"type": "array", "uniqueItems": true}}})")}));
    for (const char* schema :
         {R"({"type": "array"})", R"({"anyOf": [{"type": "object"}, {"type": "object"}]})", R"({"enum": [{}]})"})
        EXPECT_ERROR(ErrorCode::invalid_argument, "not that of an object", calls({tool(schema)}));
    EXPECT_ERROR(ErrorCode::invalid_argument, "refers to itself",
                 calls({tool(R"({"properties": {"k": {"$ref": "#/properties/k"}}})")}));
    for (const char* keyword : {"minLength", "maxLength"})
        EXPECT_ERROR(
            ErrorCode::invalid_argument, "is more than 8192",
            calls({tool(fmt::format(R"({{"properties": {{"k": {{"type": "string", "{}": 8193}}}}}})", keyword))}));
    EXPECT_ERROR(ErrorCode::invalid_argument, "can stand in a call",
                 calls({tool(R"({"properties": {"k": {"type": "string", "pattern": "^\n</parameter>$"}}})")}));
}

}  // namespace
}  // namespace colugo
