// What each keyword allows and forbids, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sampling/grammar_harness.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using testing::accepts;
using testing::begins;
using testing::json;
using testing::token_grammar;
using Json = nlohmann::ordered_json;
using Texts = std::vector<std::string>;

void check(const std::string& schema, const Texts& right, const Texts& wrong) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(json(schema)));
    for (const std::string& text : right) EXPECT_TRUE(accepts(grammar, text)) << schema << " should allow " << text;
    for (const std::string& text : wrong) EXPECT_FALSE(accepts(grammar, text)) << schema << " should forbid " << text;
}

void expect_refused(const std::string& schema, const std::string& words) {
    EXPECT_ERROR(ErrorCode::invalid_argument, words, json_schema_grammar(json(schema)));
}

TEST(JsonSchema, AllowsAnyValueWhereNothingIsSaid) {
    for (const char* schema : {"true", "{}", R"({"title": "T", "description": "d", "default": 1, "examples": [2],
                                                 "$schema": "s", "$id": "i", "$comment": "c", "deprecated": true,
                                                 "readOnly": false, "writeOnly": false, "$defs": {}})"})
        check(schema,
              {"1", "-0.5e+10", "\"a\"", "null", "true", "false", "[]", "{}", "[1, {\"a\":[]}]",
               "{\"a\": {\"b\":1},\"c\":2}", "[ 1,\n  2\n]", "\n\n{}", "{ }"},
              {"", "01", "1.", ".5", "+1", "nul", "[1,]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "'a'", "\n\n\n1", "1 ",
               "[1 2]", "1e400", "\"a", "{\"a\":1", "[,1]"});
}

TEST(JsonSchema, LimitsTheNestingOfAnyValue) {
    const auto nested = [](int depth) {
        const auto count = static_cast<size_t>(depth);
        return std::string(count, '[').append(count, ']');
    };
    check("{}", {nested(kMaxGrammarNesting)}, {nested(kMaxGrammarNesting + 1)});
    // Where no more can be opened, what is open can be closed.
    TokenGrammar grammar = token_grammar(json_schema_grammar(json("{}")));
    EXPECT_TRUE(begins(grammar, std::string(kMaxGrammarNesting, '[')));
    EXPECT_FALSE(begins(grammar, std::string(kMaxGrammarNesting + 1, '[')));
    EXPECT_FALSE(begins(grammar, std::string(kMaxGrammarNesting, '[') + "{"));
}

TEST(JsonSchema, StringsAreValidJson) {
    check(R"({"type": "string"})",
          {R"("")", R"("a\"b\\c\/\b\f\n\r\t\u00e9")", R"("\ud83D\uDE00")",
           "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x7F\"", "\"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\""},
          {R"("\x41")", R"("\u12")", R"("\ud83d")", R"("\ud83dx")", R"("\ud83d\u0041")", R"("\ude00")", "\"\n\"",
           "\"\x01\"", "\"\xC3\"", "\"\xC0\x80\"", "\"\xE0\x80\x80\"", "\"\xED\xA0\x80\"", "\"\xF5\x80\x80\x80\"",
           "\"\xF4\x90\x80\x80\"", "\"\xFF\"", "\"a\"\"", "1"});
}

TEST(JsonSchema, CountsCodePoints) {
    check(R"({"type": "string", "minLength": 2, "maxLength": 3})",
          {R"("ab")", R"("abc")", "\"\xF0\x9F\x98\x80\xE2\x82\xAC\xC3\xA9\"", R"("\ud83d\ude00\n\u0041")"},
          {R"("")", R"("a")", R"("abcd")", "\"\xF0\x9F\x98\x80\"", R"("\ud83d\ude00")", R"("\n\n\n\n")"});
    check(R"({"type": "string", "minLength": 2})", {R"("ab")", R"("abcdefgh")"}, {R"("a")", R"("\"")"});
    check(R"({"type": "string", "maxLength": 0})", {R"("")"}, {R"("a")"});
    check(R"({"type": "string", "maxLength": 1.0})", {R"("")", R"("a")"}, {R"("ab")"});
    const std::string long_text = fmt::format("\"{:x<32768}\"", ""), longer = fmt::format("\"{:x<32769}\"", "");
    check(R"({"type": "string", "maxLength": 1000000})", {long_text}, {longer});
}

TEST(JsonSchema, MatchesPatterns) {
    check(R"({"type": "string", "pattern": "^[a-c]+\\d?$"})", {R"("a")", R"("abc1")"}, {R"("")", R"("d")", R"("a12")"});
    check(R"({"type": "string", "pattern": "b"})",
          {R"("abc")",
           "\"\xC3\xA9"
           "b\\n\\u00e9\"",
           R"("b")"},
          {R"("ac")", R"("")"});
    check(R"({"type": "string", "pattern": "^.\"\\\\.$"})", {R"("x\"\\y")", "\"\xC3\xA9\\\"\\\\\xE2\x82\xAC\""},
          {R"("x"\y")", R"("x\"\\\n")"});
    check(R"({"type": "string", "pattern": "^a*$", "minLength": 2, "maxLength": 3})", {R"("aa")", R"("aaa")"},
          {R"("a")", R"("aaaa")", R"("ab")"});
    check(R"({"pattern": "^\n\t$"})", {R"("\n\t")"}, {"\"\n\t\"", "1"});
    check("{\"type\": \"string\", \"pattern\": \"^[\xC3\xA0-\xE2\x82\xAD]$\"}",
          {"\"\xC3\xA9\"", "\"\xE2\x82\xAC\"", "\"\xE0\xA0\x80\""},
          {"\"\xC3\x9F\"", "\"\xE2\x82\xAE\"", "\"a\"", "\"\xF0\x9F\x98\x80\""});
}

TEST(JsonSchema, KnowsFormats) {
    check(R"({"type": "string", "format": "date"})", {R"("2024-02-29")", R"("2000-02-29")", R"("1999-12-31")"},
          {R"("2023-02-29")", R"("1900-02-29")", R"("2024-04-31")", R"("2024-13-01")", R"("2024-1-1")"});
    check(R"({"type": "string", "format": "time"})", {R"("23:59:59Z")", R"("00:00:00.5+05:30")"},
          {R"("24:00:00Z")", R"("12:00:00")"});
    check(R"({"type": "string", "format": "date-time"})", {R"("2024-02-29T10:00:00Z")"},
          {R"("2024-02-30T10:00:00Z")", R"("2024-02-29 10:00:00Z")"});
    check(R"({"type": "string", "format": "uuid"})", {R"("01234567-89ab-CDEF-0123-456789abcdef")"}, {R"("0123")"});
    check(R"({"type": "string", "format": "email"})", {R"("a.b+c@d-e.org")"},
          {R"("a@b")", R"("@b.c")", R"("a b@c.de")"});
    check(R"({"type": "string", "format": "ipv4"})", {R"("127.0.0.255")"}, {R"("256.0.0.1")", R"("1.2.3")"});
    check(R"({"type": "string", "format": "uri"})",
          {R"("http://a")", R"("https://user-1.example.org:65535/a/b%20c;d?e=f&g#h?/")",
           R"("http://127.0.0.1:8080/v1")", R"("file:///etc/hosts")", R"("git+ssh://host/x.git")", R"("http://a?b")"},
          {R"("a")", R"("http://")", R"("http:///a")", R"("http://a b")", R"("http://a/\u00e9")", R"("http://a/%2")",
           R"("http://a:65536")", R"("http://xn--a")", R"("http://a#b#c")", R"("//a/b")"});
    // As pydantic's HttpUrl has it, which is longer than is written.
    check(R"({"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083})",
          {"\"http://a/" + std::string(100, 'b') + "\""}, {"\"http://a/" + std::string(2083, 'b') + "\""});
    check(R"({"type": "string", "format": "email", "maxLength": 254})", {R"("a@b.org")"},
          {"\"a@b." + std::string(300, 'c') + "\""});
    check(R"({"type": "string", "format": "date", "pattern": "^2024"})", {R"("2024-05-01")"}, {R"("2023-05-01")"});
}

TEST(JsonSchema, BoundsIntegersExactly) {
    check(R"({"type": "integer"})", {"0", "-1", "9223372036854775807", "-9223372036854775808"},
          {"00", "-0", "1.0", "1e2", "9223372036854775808", "-9223372036854775809", "+1", "-"});
    for (const auto& [low, high] :
         std::vector<std::pair<int, int>>{{-12, 7}, {0, 0}, {95, 1203}, {-110, -9}, {-5, -5}, {8, 120}}) {
        TokenGrammar grammar = token_grammar(json_schema_grammar(
            json(fmt::format(R"({{"type": "integer", "minimum": {}, "maximum": {}}})", low, high))));
        for (int value = -1300; value <= 1300; ++value)
            EXPECT_EQ(accepts(grammar, std::to_string(value)), value >= low && value <= high)
                << value << " in " << low << " .. " << high;
    }
    check(R"({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5})", {"4"}, {"3", "5"});
    check(R"({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 2.5})", {"1", "2"}, {"0", "3"});
    check(R"({"type": "integer", "minimum": 100, "maximum": 18446744073709551615})", {"100", "9223372036854775807"},
          {"99"});
    check(R"({"type": "integer", "multipleOf": 7, "minimum": -20})", {"-14", "0", "7", "7777777"}, {"-21", "1", "8"});
}

TEST(JsonSchema, HoldsToTypes) {
    check(R"({"type": ["integer", "null"]})", {"5", "null"}, {"5.5", "\"a\"", "true"});
    check(R"({"type": "number"})", {"5", "-2.50", "1E-7"}, {"\"5\"", "1e100"});
    check(R"({"type": "boolean"})", {"true", "false"}, {"True", "0", "null"});
    check(R"({"minLength": 2, "type": ["string", "boolean"]})", {"true", "\"ab\""}, {"\"a\""});
}

TEST(JsonSchema, EnumeratesValues) {
    check(R"({"enum": ["a", "ab", 1, 12, null, {"k": [1, 2]}, [], "\n"]})",
          {"\"a\"", "\"ab\"", "1", "12", "null", R"({"k":[1,2]})", "{ \"k\": [1, 2] }", "[]", R"("\n")"},
          {"\"abc\"", "2", "\"\"", "{}", R"({"k":[1]})", "[1]"});
    check(R"({"type": "string", "enum": ["a", 1]})", {"\"a\""}, {"1"});
    check(R"({"const": {"a": "b\"c"}})", {R"({"a": "b\"c"})"}, {R"({"a": "b"})"});
    check(R"({"type": "integer", "const": 5})", {"5"}, {"6"});
}

TEST(JsonSchema, WritesPropertiesInOrder) {
    const std::string schema =
        R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}, "c": {"type": "boolean"}},
                                   "required": ["b"]})";
    check(schema,
          {R"({"b":null})", R"({"a": 1, "b": null, "c": true})", "{\n    \"a\": 1,\n    \"b\": null\n}",
           R"({"b": null,"c":false})"},
          {"{}", R"({"a":1})", R"({"b":null,"a":1})", R"({"b":null,})", R"({"b":null,"d":1})", R"({,"b":null})",
           R"({"b":null "c":true})", R"({"b":1})", R"({"b"  :null})"});
    check(R"({"type": "object", "properties": {"a": {}, "b": {}}})",
          {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"}, {R"({"c":1})", R"({"b":1,"a":2})"});
    check(R"({"properties": {"a": true}, "required": ["a"]})", {R"({"a":[]})"}, {"[]", "1"});
    check(R"({"type": "object", "properties": {"a\"\n": {"const": 1}}})", {R"({"a\"\n":1})"}, {R"({"a":1})"});
}

TEST(JsonSchema, AllowsOtherPropertiesWhereTheSchemaNamesThem) {
    check(R"({"type": "object", "properties": {"ab": {"type": "null"}}, "additionalProperties": {"type": "integer"}})",
          {"{}", R"({"ab":null})", R"({"ab":null,"x":1,"y":2})", R"({"a":1})", R"({"abc":1})", R"({"":1,"b":2})"},
          {R"({"ab":1})", R"({"ab":null,"ab":1})", R"({"x":null})", R"({"x":1,"ab":null})", "{\"\\u0061b\":1}"});
    check(R"({"type": "object", "additionalProperties": {"type": "integer"}})",
          {"{}", R"({"a":1})", R"({"a":1, "b":2})"}, {R"({"a":null})", R"({"a":1,})"});
    check(R"({"type": "object", "additionalProperties": false})", {"{}", "{ }"}, {R"({"a":1})"});
    check(R"({"type": "object"})", {"{}", R"({"a":{"b":[]}})"}, {"[]"});
    check(R"({"type": "object", "required": ["x"], "additionalProperties": {"type": "integer"}})",
          {R"({"x":1})", R"({"x":1,"y":2})"}, {"{}", R"({"y":1})", R"({"x":null})"});
    check(R"({"type": "object", "properties": {"a": {}}, "required": ["x"]})", {R"({"x":null})", R"({"a":1,"x":[]})"},
          {R"({"a":1})"});
}

TEST(JsonSchema, CountsItems) {
    check(R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})",
          {"[1]", "[1, 2,3]", "[\n  1\n]"}, {"[]", "[1,2,3,4]", "[null]", "[1,]"});
    check(R"({"type": "array", "items": {"type": "integer"}})", {"[]", "[1,2,3,4,5,6,7,8]"}, {"[1,]", "[,]"});
    check(R"({"type": "array", "minItems": 2})", {"[1,[]]", "[1,2,3]"}, {"[1]"});
    check(R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"});
    check(R"({"prefixItems": [{"type": "integer"}, {"type": "null"}]})", {"[]", "[1]", "[1,null]"},
          {"[null]", "[1,null,2]", "{}"});
    check(R"({"prefixItems": [{"type": "integer"}], "items": {"type": "null"}})", {"[]", "[1,null,null]"}, {"[1,1]"});
    check(R"({"prefixItems": [{"type": "integer"}], "minItems": 2})", {"[1,{}]", "[1,2,3]"}, {"[1]"});
    check(R"({"prefixItems": [{"type": "integer"}], "items": false, "minItems": 1})", {"[1]"}, {"[]", "[1,1]"});
    check(R"({"type": "array", "items": false})", {"[]"}, {"[1]"});
    check(R"({"type": "array", "uniqueItems": false})", {"[1,1]"}, {});
}

TEST(JsonSchema, CombinesSchemas) {
    check(R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}, {"const": "abc"}]})",
          {"1", "\"a\"", "\"abc\""}, {"\"ab\"", "null"});
    check(
        R"({"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "x": {"type": "integer"}}, "required": ["k", "x"]},
                        {"type": "object", "properties": {"k": {"const": "b"}, "y": {"type": "null"}}, "required": ["k", "y"]}]})",
        {R"({"k":"a","x":1})", R"({"k":"b","y":null})"}, {R"({"k":"a","y":null})", R"({"k":"b"})"});
    check(R"({"allOf": [{"type": "integer"}]})", {"1"}, {"null"});
    check(
        R"({"allOf": [{"$ref": "#/$defs/a"}, {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["a", "b"]}],
              "properties": {"o": {}}, "$defs": {"a": {"type": "object", "properties": {"a": {"type": "null"}}}}})",
        {R"({"a":null,"b":1})", R"({"o":1,"a":null,"b":1})"}, {R"({"a":null})", R"({"b":1,"a":null})", "{}"});
}

TEST(JsonSchema, FollowsReferences) {
    const std::string list = R"({"$ref": "#/$defs/list", "$defs": {"list": {"anyOf": [{"type": "null"},
        {"type": "object", "properties": {"next": {"$ref": "#/$defs/list"}}, "required": ["next"]}]}}})";
    check(list, {"null", R"({"next":null})", R"({"next":{"next":null}})"}, {"{}", "1", R"({"next":{}})"});
    check(R"({"type": "array", "items": {"$ref": "#"}})", {"[]", "[[],[[]]]"}, {"[1]"});
    check(
        R"({"properties": {"a~b/c": {"type": "null"}, "x": {"$ref": "#/properties/a~0b~1c"}, "y": {"$ref": "#/definitions/50%25/0"}},
              "definitions": {"50%": [{"type": "integer"}]}})",
        {R"({"x":null,"y":1})"}, {R"({"x":1})", R"({"y":null})"});
    // Two readings that are in the same part, and return to different places.
    const std::string part =
        R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/s"}, "%": {"type": "null"}}, "required": ["a", "%"]})";
    std::string x = part, y = part;
    std::replace(x.begin(), x.end(), '%', 'x');
    std::replace(y.begin(), y.end(), '%', 'y');
    check(
        fmt::format(R"({{"anyOf": [{}, {}], "$defs": {{"s": {{"type": "array", "items": {{"$ref": "#/$defs/s"}}}}}}}})",
                    x, y),
        {R"({"a":[[]],"x":null})", R"({"a":[[],[[]]],"y":null})"}, {R"({"a":[[]],"z":null})", R"({"a":[[],"y":null})"});
    // The depth of what refers to itself is limited, and what is open at the limit can be closed.
    const auto nested = [](int depth) {
        std::string text = "null";
        for (int i = 0; i < depth; ++i) text = fmt::format(R"({{"next":{}}})", text);
        return text;
    };
    check(list, {nested(kMaxGrammarNesting)}, {nested(kMaxGrammarNesting + 1)});
}

TEST(JsonSchema, NamesWhatItRefuses) {
    for (const char* keyword : {"not",
                                "if",
                                "then",
                                "else",
                                "patternProperties",
                                "propertyNames",
                                "minProperties",
                                "maxProperties",
                                "contains",
                                "minContains",
                                "dependentRequired",
                                "dependentSchemas",
                                "dependencies",
                                "unevaluatedProperties",
                                "unevaluatedItems",
                                "additionalItems",
                                "$dynamicRef",
                                "$anchor",
                                "nullable",
                                "discriminator",
                                "contentEncoding",
                                "x-order",
                                "Type"})
        expect_refused(fmt::format(R"({{"type": "object", "properties": {{"a/b": {{"{}": 1}}}}}})", keyword),
                       fmt::format(R"("{0}" at #/properties/a~1b/{0} is not supported)", keyword));
    expect_refused("false", "the schema at # is false");
    expect_refused(R"({"properties": {"a": false}})", "the schema at #/properties/a is false");
    expect_refused("[]", "neither an object nor true");
    expect_refused(R"({"items": 5})", "what is at #/items is no schema");
    expect_refused(R"({"anyOf": []})", "\"anyOf\" at #/anyOf is not a list");
    expect_refused(R"({"anyOf": [{}], "type": "string"})", "\"type\" at #/type is not supported beside \"anyOf\"");
    expect_refused(R"({"anyOf": [{}], "oneOf": [{}]})", "is not supported beside \"anyOf\"");
    expect_refused(R"({"$ref": "#/$defs/a", "minLength": 1, "$defs": {"a": {}}})",
                   "\"minLength\" at #/minLength is not supported beside \"$ref\"");
    expect_refused(R"({"enum": ["a"], "minLength": 1})", "is not supported beside \"enum\"");
    expect_refused(R"({"enum": ["a"], "const": 1})", "is not supported beside \"const\"");
    expect_refused(R"({"type": "integer", "enum": ["a"]})", "\"enum\" at #/enum has no value");
    expect_refused(R"({"enum": []})", "is not a list of values");
    expect_refused(R"({"type": "float"})", "\"type\" at #/type is not a type");
    expect_refused(R"({"type": []})", "is an empty list");
    expect_refused(R"({"type": "array", "uniqueItems": true})", "\"uniqueItems\" at #/uniqueItems is not supported");
    expect_refused(R"({"items": [{}]})", "\"items\" at #/items is a list");
    expect_refused(R"({"minItems": 3, "maxItems": 2})", "is less than \"minItems\"");
    expect_refused(R"({"minItems": -1})", "\"minItems\" at #/minItems is -1");
    expect_refused(R"({"minItems": 1000000})", "at most 4096");
    expect_refused(R"({"items": false, "minItems": 1})", "\"minItems\" at #/minItems is more than");
    expect_refused(R"({"minLength": 1.5})", "expected a whole number");
    expect_refused(R"({"minLength": 1000000000000})", "\"minLength\" at #/minLength is");
    expect_refused(R"({"minLength": 2, "maxLength": 1})", "is less than \"minLength\"");
    expect_refused(R"({"type": "string", "format": "iri"})", "\"format\" at #/format is \"iri\"");
    expect_refused(R"({"type": "integer", "format": "int32"})", "\"format\" at #/format is \"int32\"");
    expect_refused(R"({"type": "string", "pattern": 5})", "\"pattern\" at #/pattern is not a string");
    expect_refused(R"({"type": "string", "pattern": "^a$", "minLength": 2})", "matches no string");
    expect_refused(R"({"type": "number", "minimum": 1})", "\"minimum\" at #/minimum is supported for integers only");
    expect_refused(R"({"minimum": 1})", "is supported for integers only");
    expect_refused(R"({"type": "number", "multipleOf": 0.1})",
                   "\"multipleOf\" at #/multipleOf is supported for integers only");
    expect_refused(R"({"type": "integer", "multipleOf": 0.5})", "expected a whole number above 0");
    expect_refused(R"({"type": "integer", "multipleOf": 1000000})", "needs too many states");
    expect_refused(R"({"type": "integer", "minimum": 5, "maximum": 4})", "\"maximum\" at #/maximum leaves no");
    expect_refused(R"({"type": "integer", "minimum": 1e30})", "\"minimum\" at #/minimum is more than");
    expect_refused(R"({"type": "integer", "minimum": 8, "maximum": 9, "multipleOf": 7})", "divides no number");
    expect_refused(R"({"type": "integer", "minimum": "1"})", "expected a number");
    expect_refused(R"({"type": "integer", "exclusiveMinimum": true})", "expected a number");
    expect_refused(R"({"properties": []})", "\"properties\" at #/properties is not an object");
    expect_refused(R"({"required": "a"})", "\"required\" at #/required is not a list");
    expect_refused(R"({"required": ["a"], "additionalProperties": false})", "names \"a\"");
    expect_refused(R"({"additionalProperties": {"not": {}}})", "\"not\" at #/additionalProperties/not");
    expect_refused(R"({"allOf": [{"type": "integer"}, {"minimum": 1}]})", "is not \"object\"");
    expect_refused(R"({"allOf": [{"properties": {"a": {}}}, {"properties": {"a": {}}}]})",
                   "\"a\" at #/allOf/1/properties/a is a property");
    expect_refused(
        R"({"allOf": [{"properties": {"a": {}}, "additionalProperties": false}, {"properties": {"b": {}}}]})",
        "\"additionalProperties\" at #/allOf/0");
    expect_refused(R"({"allOf": [{"anyOf": [{}]}, {}]})", "\"anyOf\" at #/allOf/0/anyOf is not supported in a part");
    expect_refused(R"({"$ref": "other.json"})", "only what begins with #/");
    expect_refused(R"({"$ref": "#/$defs/a"})", "which the schema does not have");
    expect_refused(R"({"$ref": 5})", "\"$ref\" at #/$ref is not a string");
}

TEST(JsonSchema, RefusesWhatHasNoEnd) {
    expect_refused(R"({"$ref": "#"})", "what is at # leads back to itself");
    expect_refused(R"({"anyOf": [{"type": "null"}, {"$ref": "#"}]})", "leads back to itself");
    expect_refused(
        R"({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}})",
        "leads back to itself");
    expect_refused(R"({"allOf": [{"$ref": "#"}, {"type": "object"}]})", "refers to itself");
    expect_refused(R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
                   "no reply could satisfy");
    // What need not be written may have none.
    check(
        R"({"type": "object", "properties": {"b": {"type": "null"}, "a": {"$ref": "#/$defs/e"}}, "$defs": {"e": {"type": "object", "properties": {"a": {"$ref": "#/$defs/e"}}, "required": ["a"]}}})",
        {"{}", R"({"b":null})"}, {R"({"a":)"});
}

TEST(JsonSchema, RefusesWhatIsTooLarge) {
    std::string deep = "{}";
    for (int i = 0; i < 10'000; ++i) deep = fmt::format(R"({{"properties":{{"a":{}}}}})", deep);
    expect_refused(deep, "nested deeper than 128");
    std::string nested = R"({"type":"integer"})";
    for (int i = 0; i < 62; ++i) nested = fmt::format(R"({{"type":"array","minItems":1,"items":{}}})", nested);
    EXPECT_NO_THROW(json_schema_grammar(json(nested)));
    for (int i = 0; i < 4; ++i) nested = fmt::format(R"({{"type":"array","minItems":1,"items":{}}})", nested);
    expect_refused(nested, "nests deeper than 64");
    nlohmann::ordered_json many;
    for (int i = 0; i < 1001; ++i) many["enum"].push_back(i);
    expect_refused(many.dump(), "has 1001 values");
    nlohmann::ordered_json wide;
    for (int i = 0; i < 40; ++i)
        wide["properties"][fmt::format("p{}", i)] = {{"type", "string"}, {"maxLength", 30'000 - i}};
    expect_refused(wide.dump(), "would need more than");
    nlohmann::ordered_json broken;
    broken["properties"]["\xFF"] = true;
    EXPECT_ERROR(ErrorCode::invalid_argument, "not UTF-8", json_schema_grammar(broken));
}

TEST(JsonSchema, CompilesManyProperties) {
    nlohmann::ordered_json schema;
    for (int i = 0; i < 500; ++i) schema["properties"][fmt::format("p{}", i)] = {{"type", "integer"}};
    TokenGrammar grammar = token_grammar(json_schema_grammar(schema));
    EXPECT_TRUE(accepts(grammar, R"({"p0":1,"p7":2,"p499":3})"));
    EXPECT_FALSE(accepts(grammar, R"({"p7":1,"p0":2})"));
}

TEST(JsonObject, IsAnObject) {
    TokenGrammar grammar = token_grammar(json_object_grammar());
    for (const char* text : {"{}", "{\"a\": [1, \"x\", null]}", "\n\n{\n  \"a\": {}\n}"})
        EXPECT_TRUE(accepts(grammar, text)) << text;
    for (const char* text : {"[]", "1", "\"a\"", "{", " {}", "{}{}"}) EXPECT_FALSE(accepts(grammar, text)) << text;
}

TEST(JsonSchema, SentencesStayShortWhateverTheyQuote) {
    std::string name = "a";  // so that a cut after an even number of bytes is inside a character
    for (int i = 0; i < 5000; ++i) name += "\xC3\xA9";
    for (const std::string schema :
         {R"({"%": 1})", R"({"type": "string", "format": "%"})", R"({"$ref": "%"})", R"({"$ref": "#/%"})",
          R"({"properties": {"%": {"%": 1}}})", R"({"properties": {"%": false}, "required": ["%"]})",
          R"({"properties": {"%": 1}, "required": ["%"]})", R"({"minLength": "%", "type": "string"})",
          R"({"minimum": "%", "type": "integer"})", R"({"minimum": ["%"], "type": "integer"})",
          R"({"properties": {}, "additionalProperties": false, "required": ["%"]})",
          R"({"$defs": {"%": {"$ref": "#/$defs/%"}}, "$ref": "#/$defs/%"})",
          R"({"$defs": {"%": {"anyOf": [{"$ref": "#/$defs/%"}, {"type": "null"}]}}, "$ref": "#/$defs/%"})",
          R"({"$defs": {"%": {"pattern": "("}}, "$ref": "#/$defs/%"})",
          R"({"allOf": [{"properties": {"%": {}}}, {"properties": {"%": {}}}]})"}) {
        std::string whole;
        for (const char c : schema) whole += c == '%' ? name : std::string(1, c);
        for (const bool call : {false, true}) {
            const std::vector<CallTool> tools = {{"f", json(whole)}};
            const CallRules rules{
                .choice = CallRules::Choice::required, .open = testing::tool_open(), .close = testing::tool_close()};
            try {
                call ? call_grammar(tools, rules) : json_schema_grammar(json(whole));
                EXPECT_TRUE(call) << schema;
            } catch (const Error& error) {
                EXPECT_LT(std::string(error.what()).size(), 500u) << schema;
                EXPECT_NO_THROW(Json(error.what()).dump()) << schema;
            }
        }
    }
}

}  // namespace
}  // namespace colugo
