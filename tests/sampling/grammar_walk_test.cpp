// Random ways through the grammars of random schemas: there is always a way on, and where it ends is right.
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "sampling/grammar_harness.h"
#include "sampling/schema_checker.h"
#include "sampling/schema_maker.h"

namespace colugo {
namespace {

using Json = nlohmann::ordered_json;
using testing::SchemaMaker;
using testing::Walker;

constexpr uint64_t kSchemas = 500;

TEST(GrammarWalk, RepliesSatisfyTheirSchema) {
    for (uint64_t seed = 0; seed < kSchemas && !::testing::Test::HasFailure(); ++seed) {
        const Json schema = SchemaMaker(seed).schema();
        TokenGrammar grammar = testing::token_grammar(json_schema_grammar(schema));
        Walker walker(seed);
        for (int i = 0; i < 3; ++i) {
            const std::string text = walker.walk(grammar);
            const Json value = Json::parse(text, nullptr, false);
            ASSERT_FALSE(value.is_discarded()) << "seed " << seed << ": " << schema << "\n" << text;
            EXPECT_TRUE(testing::satisfies(value, schema, schema)) << "seed " << seed << ": " << schema << "\n" << text;
        }
    }
}

// The types that a schema names, those of its alternatives too; all where it names none.
std::set<std::string> types_of(const Json& schema, const Json& root) {
    std::set<std::string> types;
    if (schema.is_object() && schema.contains("$ref"))
        return types_of(root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), root);
    for (const char* keyword : {"anyOf", "oneOf", "allOf"})
        if (schema.is_object() && schema.contains(keyword))
            for (const Json& part : schema[keyword]) types.merge(types_of(part, root));
    if (!types.empty()) return types;
    Json values = schema.is_object() ? schema.value("enum", Json::array()) : Json::array();
    if (schema.is_object() && schema.contains("const")) values.push_back(schema["const"]);
    for (const Json& value : values)
        types.insert(value.is_number() ? (value.is_number_integer() ? "integer" : "number") : value.type_name());
    if (!types.empty()) return types;
    if (schema.is_object() && schema.contains("type"))
        for (const Json& type : schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]}))
            types.insert(type.get<std::string>());
    return types.empty() ? std::set<std::string>{"null", "boolean", "integer", "number", "string", "array", "object"}
                         : types;
}

// What a reader of calls makes of a parameter's text: a value of a type its schema names where there is one, and where
// it names strings alone, or nothing, the text.
Json argument(const Json& schema, const Json& root, const std::string& text) {
    const std::set<std::string> types = types_of(schema, root);
    if (types == std::set<std::string>{"string"} || types.size() == 7) return text;
    const Json value = Json::parse(text, nullptr, false);
    for (const std::string& type : types) {
        const Json only = {{"type", type}};
        if (type != "string" && !value.is_discarded() && testing::satisfies(value, only, only)) return value;
    }
    return text;
}

const CallRules kRequired = {.choice = CallRules::Choice::required,
                             .parallel = false,
                             .open = testing::tool_open(),
                             .close = testing::tool_close()};

// The arguments of the one call that a reply is, of a tool f with these parameters.
Json arguments_of(std::string text, const Json& schema) {
    Json arguments = Json::object();
    const std::string head = "<+>\n<function=f>\n", tail = "</function>\n<->";
    text.erase(0, text.find('<'));
    EXPECT_TRUE(text.starts_with(head) && text.ends_with(tail)) << schema << "\n" << text;
    if (::testing::Test::HasFailure()) return arguments;
    text = text.substr(head.size(), text.size() - head.size() - tail.size());
    while (!text.empty()) {
        const size_t name_end = text.find(">\n"), end = text.find("\n</parameter>\n", name_end + 2);
        EXPECT_EQ(text.substr(0, 11), "<parameter=");
        EXPECT_NE(end, std::string::npos) << text;
        if (::testing::Test::HasFailure()) return arguments;
        const std::string name = text.substr(11, name_end - 11);
        const Json part =
            schema.value("properties", Json::object()).value(name, schema.value("additionalProperties", Json(true)));
        arguments[name] = argument(part, schema, text.substr(name_end + 2, end - name_end - 2));
        text.erase(0, end + 14);
    }
    return arguments;
}

TEST(GrammarWalk, CallsSatisfyTheirParameters) {
    for (uint64_t seed = 0; seed < kSchemas && !::testing::Test::HasFailure(); ++seed) {
        const Json schema = SchemaMaker(seed).parameters();
        const std::vector<CallTool> tools = {{"f", schema}};
        TokenGrammar grammar = testing::token_grammar(call_grammar(tools, kRequired));
        const Json arguments = arguments_of(Walker(seed).walk(grammar), schema);
        EXPECT_TRUE(testing::satisfies(arguments, schema, schema)) << "seed " << seed << ": " << schema << "\n"
                                                                   << arguments;
    }
}

TEST(GrammarWalk, RepliesAreJsonOrCallsBehindThoughts) {
    int calls = 0, values = 0;
    for (uint64_t seed = 0; seed < kSchemas && !::testing::Test::HasFailure(); ++seed) {
        const Json schema = SchemaMaker(seed).schema(), parameters = SchemaMaker(seed + 1).parameters();
        const std::vector<CallTool> tools = {{"f", parameters}};
        CallRules rules = kRequired;
        rules.choice = CallRules::Choice::automatic;
        const bool thinks = seed % 2 == 0;
        TokenGrammar grammar = testing::token_grammar(
            json_or_call_grammar(&schema, tools, rules, thinks ? testing::thought_end() : kNoToken));
        for (uint64_t i = 0; i < 3; ++i) {
            std::string text = Walker(3 * seed + i).walk(grammar);
            if (const size_t call = text.find("<+>"); call != std::string::npos) {
                ++calls;
                const Json arguments = arguments_of(text.substr(call), parameters);
                EXPECT_TRUE(testing::satisfies(arguments, parameters, parameters)) << parameters << "\n" << arguments;
                continue;
            }
            ++values;
            if (thinks) text.erase(0, text.find("<.>") + 3);
            const Json value = Json::parse(text, nullptr, false);
            EXPECT_TRUE(!value.is_discarded() && testing::satisfies(value, schema, schema)) << schema << "\n" << text;
        }
    }
    EXPECT_GT(calls, 100);
    EXPECT_GT(values, 100);
}

// Puts values where they do not belong.
void spoil(Json& schema, Walker& random) {
    const char* keywords[] = {"type",       "enum",        "const",
                              "anyOf",      "allOf",       "$ref",
                              "properties", "required",    "additionalProperties",
                              "items",      "prefixItems", "minItems",
                              "maxItems",   "minLength",   "maxLength",
                              "pattern",    "format",      "minimum",
                              "maximum",    "multipleOf",  "not"};
    const char* values[] = {"null",
                            "true",
                            "false",
                            "-1",
                            "0",
                            "3",
                            "1e300",
                            "0.5",
                            "\"\"",
                            "\"a{\"",
                            "\"#\"",
                            "\"#/$defs/chain\"",
                            "\"(a|b)*\"",
                            "\"string\"",
                            "[]",
                            "{}",
                            "[{}]",
                            "[\"a\"]",
                            "{\"a\": {\"$ref\": \"#\"}}",
                            "[{\"type\": \"object\"}, {\"properties\": {\"a\": {}}}]"};
    Json* place = &schema;
    while (place->is_structured() && !place->empty() && random.pick(4) != 0) {
        auto part = place->begin();
        std::advance(part, static_cast<std::ptrdiff_t>(random.pick(place->size())));
        place = &*part;
    }
    const Json value = Json::parse(values[random.pick(std::size(values))]);
    if (place->is_object())
        (*place)[keywords[random.pick(std::size(keywords))]] = value;
    else
        *place = value;
}

TEST(GrammarWalk, SpoiledSchemasAreRefusedOrRight) {
    uint64_t refused = 0;
    for (uint64_t seed = 0; seed < 2 * kSchemas && !::testing::Test::HasFailure(); ++seed) {
        Json schema = SchemaMaker(seed).schema();
        Walker walker(seed);
        for (uint64_t i = 0; i <= seed % 4; ++i) spoil(schema, walker);
        try {
            TokenGrammar grammar = testing::token_grammar(json_schema_grammar(schema));
            const std::string text = walker.walk(grammar);
            const Json value = Json::parse(text, nullptr, false);
            EXPECT_TRUE(!value.is_discarded() && testing::satisfies(value, schema, schema)) << schema << "\n" << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            ++refused;
        }
    }
    EXPECT_GT(refused, kSchemas / 2);
    EXPECT_LT(refused, 2 * kSchemas - kSchemas / 4);
}

TEST(GrammarWalk, ObjectsAreObjects) {
    TokenGrammar grammar = testing::token_grammar(json_object_grammar(testing::thought_end()));
    for (uint64_t seed = 0; seed < 50; ++seed) {
        std::string text = Walker(seed).walk(grammar);
        text.erase(0, text.find("<.>") + 3);
        EXPECT_TRUE(Json::parse(text, nullptr, false).is_object()) << text;
    }
}

}  // namespace
}  // namespace colugo
