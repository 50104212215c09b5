#include "server/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include "server/request_harness.h"

namespace colugo::testing {
namespace {

using ::testing::HasSubstr;

std::string repeated(const std::string& text, size_t count) {
    std::string all;
    for (size_t i = 0; i < count; ++i) all += text;
    return all;
}

std::string parsed(const std::string& body) {
    return parse_request_body(body).dump();
}

std::string parse_problem(const std::string& body) {
    const auto error = refusal_of([&] { parse_request_body(body); });
    if (!error) return "";
    EXPECT_EQ(error->status(), 400);
    return error->what();
}

TEST(JsonText, KeepsValuesAndTheOrderOfKeys) {
    const std::string body =
        R"({"b":[1,-2,1.5,true,false,null,{}],"a":{"z":"x","y":[]},"u":18446744073709551615,"i":-9223372036854775808})";
    EXPECT_EQ(parsed(body), body);
    EXPECT_EQ(parsed("\xEF\xBB\xBF {} \r\n"), "{}");
}

TEST(JsonText, OfAKeyThatIsThereTwiceTheLastValueCounts) {
    EXPECT_EQ(parsed(R"({"a": 1, "b": 2, "a": {"x": 3}})"), R"({"a":{"x":3},"b":2})");
    EXPECT_EQ(parsed(R"({"a": {"x": 1}, "a": 2})"), R"({"a":2})");
}

TEST(JsonText, AWholeNumberBeyond64BitsIsTheNearestDouble) {
    EXPECT_EQ(parsed(R"({"maximum": 123456789012345678901234567890})"), R"({"maximum":1.2345678901234568e+29})");
    EXPECT_THAT(parse_problem("{\"a\": 1e999}"), HasSubstr("number overflow"));
    EXPECT_LT(parse_problem("{\"a\": " + std::string(100000, '9') + "}").size(), 250u);
}

TEST(JsonText, WhatIsNoUnicodeInAStringBecomesTheReplacementCharacter) {
    const std::pair<const char*, const char*> cases[] = {
        {R"(x \ud83d y)", "x \uFFFD y"},
        {R"(\ude00)", "\uFFFD"},
        {R"(\ud83d\ude00)", "\U0001F600"},
        {R"(\ud83d\ud83d\ude00)", "\uFFFD\U0001F600"},
        {R"(\uD83D\n)", "\uFFFD\n"},
        {R"(\ud83d)", "\uFFFD"},
        {R"(\\ud83d)", "\\ud83d"},
        {"\xC0\x80", "\uFFFD\uFFFD"},
        {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
        {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
        {"a\xF0\x9F z", "a\uFFFD z"},
        {"\xF0\x9F", "\uFFFD"},
    };
    for (const auto& [text, read] : cases) {
        SCOPED_TRACE(text);
        const std::string quoted = std::string("\"") + text + "\"";
        EXPECT_EQ(parse_request_body("{\"a\": " + quoted + "}")["a"].get<std::string>(), read);
        EXPECT_TRUE(parse_request_body("{" + quoted + ": [1]}").contains(read));
        EXPECT_EQ(parse_request_body("{\"a\": {\"b\": [" + quoted + "], \"c\": 1}}")["a"]["b"][0], read);
    }
}

TEST(JsonText, NamesTheByteAtFault) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "byte 0"},
        {"{\"a\": 1", "byte 7"},
        {"{\"a\": x}", "byte 6"},
        {"{\"a\": 1}}", "byte 8"},
        {"{\"a\": \"\x01\"}", "byte 7"},
        {"{'a': 1}", "byte 1"},
        {"{\"a\": \"\\x\"}", "byte 8"},
        {"{\"a\": \"\\u12\"}", "byte 11"},
        {"{\"a\": \"", "byte 7"},
        {"{\"a\": \"\\", "byte 8"},
        {"{\"a\": \"\\ud83", "byte 12"},
        {"\xff{}", "byte 0"},
        // Behind repaired text: bytes are counted as they were sent.
        {"{\"\xff\xff\": \"\xF0\x9F\", x}", "byte 13"},
        {"{\"\xff\": \"\\ud83d\" x}", "byte 15"},
    };
    for (const auto& [body, place] : cases) {
        SCOPED_TRACE(body);
        EXPECT_THAT(parse_problem(body), HasSubstr(std::string("the body is not JSON: ") + place + ":"));
    }
    EXPECT_THAT(parse_problem(std::string("{}\0x", 4)), HasSubstr("the body is not JSON: byte 2: a zero byte"));
}

TEST(JsonText, ARefusalDoesNotRepeatTheBody) {
    EXPECT_LT(parse_problem("{\"a\": \"" + std::string(100000, 'x')).size(), 250u);
    EXPECT_LT(parse_problem("\"" + std::string(100000, 'x') + "\"").size(), 250u);
}

TEST(JsonText, NestingHasALimit) {
    const auto lists = [](size_t levels) { return "{\"a\": " + repeated("[", levels) + repeated("]", levels) + "}"; };
    EXPECT_NO_THROW(parse_request_body(lists(kMaxRequestDepth - 1)));
    for (const size_t levels : {kMaxRequestDepth, size_t{10'000}, size_t{1'000'000}}) {
        EXPECT_THAT(parse_problem(lists(levels)), HasSubstr("nested deeper than 128 levels"));
    }
    EXPECT_THAT(parse_problem(repeated("{\"properties\":", 10'000)), HasSubstr("nested deeper"));
    EXPECT_FALSE(parse_json_text(repeated("[", 100'000)));
}

TEST(JsonText, TakesTimeLinearInItsKeys) {
    std::string body = "{";
    for (int i = 0; i < 200'000; ++i) body += "\"k" + std::to_string(i) + "\":0,";
    body.back() = '}';
    EXPECT_EQ(parse_request_body(body).size(), 200'000u);  // quadratic: minutes
}

TEST(JsonText, ABodyIsAnObject) {
    for (const char* body : {"[]", "5", "null", "\"x\"", "[{}]"}) {
        EXPECT_THAT(parse_problem(body), HasSubstr("expected a JSON object")) << body;
    }
}

TEST(JsonText, ATextInsideMayBeOfAnyType) {
    EXPECT_EQ(parse_json_text("[1, 2]")->dump(), "[1,2]");
    EXPECT_EQ(parse_json_text(R"({"t": "\ud99c"})")->dump(), "{\"t\":\"\uFFFD\"}");
    EXPECT_FALSE(parse_json_text("{\"a\": "));
    EXPECT_FALSE(parse_json_text(""));
}

}  // namespace
}  // namespace colugo::testing
