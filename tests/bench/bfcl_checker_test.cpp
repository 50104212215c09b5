#include "bench/bfcl_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colugo {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json function(const std::string& name, const Json& properties, const Json& required) {
    return {{"name", name}, {"parameters", {{"properties", properties}, {"required", required}}}};
}

// Why the calls are not right; empty where they are.
std::string fault(const Json& functions, const Json& answers, const std::vector<BfclCall>& calls,
                  BfclLanguage language = BfclLanguage::python) {
    const BfclVerdict verdict = check_bfcl_calls(language, functions, answers, calls);
    EXPECT_EQ(verdict.right, verdict.reason.empty());
    return verdict.reason;
}

// One parameter `p` of a type, with these possible values.
std::string value_fault(const Json& property, const Json& answers, const std::string& value,
                        BfclLanguage language = BfclLanguage::python) {
    return fault(Json::array({function("f", {{"p", property}}, Json::array())}),
                 Json::array({{{"f", {{"p", answers}}}}}), {{"f", "{\"p\": " + value + "}"}}, language);
}

Json list_of(const std::string& type) {
    return {{"type", "array"}, {"items", {{"type", type}}}};
}

const Json kWeather =
    Json::array({function("weather.at", {{"city", {{"type", "string"}}}, {"unit", {{"type", "string"}}}}, {"city"})});
const Json kWeatherAnswer =
    Json::parse(R"([{"weather.at": {"city": ["Oslo", "Oslo, Norway"], "unit": ["celsius", ""]}}])");

TEST(BfclChecker, TakesTheCallWithAnyOfItsPossibleValues) {
    EXPECT_EQ(fault(kWeather, kWeatherAnswer, {{"weather_at", R"({"city": "Oslo"})"}}), "");
    EXPECT_EQ(fault(kWeather, kWeatherAnswer, {{"weather_at", R"({"city": "oslo norway", "unit": "Celsius"})"}}), "");
}

TEST(BfclChecker, SaysWhatIsWrongWithACall) {
    const auto fault_of = [](const std::vector<BfclCall>& calls) { return fault(kWeather, kWeatherAnswer, calls); };
    EXPECT_EQ(fault_of({}), "0 calls, not 1");
    EXPECT_EQ(fault_of({{"weather_at", "{}"}, {"weather_at", "{}"}}), "2 calls, not 1");
    EXPECT_EQ(fault_of({{"weather.at", R"({"city": "Oslo"})"}}), "weather.at is called, not weather_at");
    EXPECT_EQ(fault_of({{"weather_at", R"({"unit": "celsius"})"}}), "weather_at lacks its required parameter city");
    EXPECT_EQ(fault_of({{"weather_at", R"({"city": "Oslo", "day": 1})"}}),
              "weather_at has the parameter day, which it should not have");
    EXPECT_EQ(fault_of({{"weather_at", R"({"city": "Bergen"})"}}),
              "parameter city is \"Bergen\", not one of [\"Oslo\",\"Oslo, Norway\"]");
    EXPECT_EQ(fault_of({{"weather_at", R"({"city": 5})"}}), "parameter city is 5, not of type string");
    EXPECT_EQ(fault_of({{"weather_at", "{\"city\": \"Oslo\""}}), "the arguments of weather_at are not a JSON object");
    EXPECT_EQ(fault_of({{"weather_at", "[\"Oslo\"]"}}), "the arguments of weather_at are not a JSON object");
}

TEST(BfclChecker, MissesWhatIsNotRequiredButMayNotBeLeftOut) {
    const Json answer = Json::parse(R"([{"weather.at": {"city": ["Oslo"], "unit": ["celsius"]}}])");
    EXPECT_EQ(fault(kWeather, answer, {{"weather_at", R"({"city": "Oslo"})"}}),
              "weather_at lacks the parameter unit, which may not be left out here");
}

TEST(BfclChecker, BlankArgumentsAreNone) {
    const Json functions = Json::array({function("now", Json::object(), Json::array())});
    EXPECT_EQ(fault(functions, Json::parse(R"([{"now": {}}])"), {{"now", " "}}), "");
}

TEST(BfclChecker, MatchesSeveralCallsInAnyOrder) {
    const Json answers = Json::parse(R"([{"weather.at": {"city": ["Oslo"]}}, {"weather.at": {"city": ["Bergen"]}}])");
    const BfclCall oslo = {"weather_at", R"({"city": "Oslo"})"};
    const BfclCall bergen = {"weather_at", R"({"city": "Bergen"})"};
    EXPECT_EQ(fault(kWeather, answers, {oslo, bergen}), "");
    EXPECT_EQ(fault(kWeather, answers, {bergen, oslo}), "");
    EXPECT_THAT(fault(kWeather, answers, {oslo, oslo}), HasSubstr("\"Oslo\", not one of [\"Bergen\"]"));
}

TEST(BfclChecker, ComparesTextsWithoutCaseAndMarks) {
    const Json text = {{"type", "string"}};
    EXPECT_EQ(value_fault(text, {"April 1, 2024"}, "\"april-1 2024.\""), "");
    EXPECT_EQ(value_fault(text, {"it's"}, "\"IT\\\"S\""), "");
    EXPECT_EQ(value_fault(text, {"Stra\u00dfe \u00c9t\u00e9"}, "\"stra\u00dfe \u00e9t\u00e9\""), "");
    EXPECT_EQ(value_fault(text, {"abcdefghij"}, "\" a b,c.d/e-f_g*h^i,j\""), "");
    EXPECT_NE(value_fault(text, {"a;b"}, "\"ab\""), "");
    EXPECT_NE(value_fault(text, {"a b"}, "\"a\\tb\""), "");
}

TEST(BfclChecker, AnIntegerMayBeAFloatButNotTheOtherWayRound) {
    EXPECT_EQ(value_fault({{"type", "float"}}, {2.0}, "2"), "");
    EXPECT_EQ(value_fault({{"type", "integer"}}, {2}, "2"), "");
    EXPECT_NE(value_fault({{"type", "integer"}}, {2}, "2.0"), "");
    EXPECT_NE(value_fault({{"type", "integer"}}, {1}, "true"), "");
    EXPECT_NE(value_fault(list_of("float"), Json::parse("[[1.0, 2.0]]"), "[1, 2.0]"), "");
    EXPECT_EQ(value_fault(list_of("float"), Json::parse("[[1, 2]]"), "[1, 2.0]"), "");
}

TEST(BfclChecker, ANameOfAVariableIsComparedAsItIs) {
    EXPECT_EQ(value_fault({{"type", "integer"}}, {"userCount"}, "\"userCount\""), "");
    EXPECT_NE(value_fault({{"type", "integer"}}, {"userCount"}, "\"usercount\""), "");
}

TEST(BfclChecker, ListsHaveTheirOrder) {
    EXPECT_EQ(value_fault(list_of("string"), Json::parse(R"([["A b", "c"]])"), R"(["ab", "C"])"), "");
    EXPECT_NE(value_fault(list_of("string"), Json::parse(R"([["a", "b"]])"), R"(["b", "a"])"), "");
    EXPECT_EQ(value_fault(list_of("string"), Json::parse(R"([["a"], ""])"), "[]"), "");
}

TEST(BfclChecker, ObjectsHavePossibleValuesOfTheirOwn) {
    const Json object = {{"type", "dict"}};
    const Json answers = Json::parse(R"([{"from": ["Oban"], "cars": [1, ""]}])");
    EXPECT_EQ(value_fault(object, answers, R"({"from": "oban"})"), "");
    EXPECT_EQ(value_fault(object, answers, R"({"cars": 1, "from": "Oban"})"), "");
    EXPECT_NE(value_fault(object, answers, R"({"cars": 1})"), "");
    EXPECT_NE(value_fault(object, answers, R"({"from": "Oban", "cars": 2})"), "");
    EXPECT_NE(value_fault(object, answers, R"({"from": "Oban", "dogs": 1})"), "");
    EXPECT_EQ(value_fault(list_of("dict"), Json::array({answers}), R"([{"from": "Oban"}])"), "");
    EXPECT_NE(value_fault(list_of("dict"), Json::array({answers}), R"([{"from": "Oban"}, {"from": "Oban"}])"), "");
}

TEST(BfclChecker, ValuesForJavaAndJavascriptAreExpressions) {
    const Json list = {{"type", "ArrayList"}, {"items", {{"type", "integer"}}}};
    EXPECT_EQ(
        value_fault(list, Json::parse("[[1, 2]]"), "\"new ArrayList<>(Arrays.asList(1, 2))\"", BfclLanguage::java), "");
    EXPECT_EQ(value_fault(list, Json::parse("[[1, 2]]"), "[1, 2]", BfclLanguage::java),
              "parameter p is [1,2], not a text with an expression");
    EXPECT_EQ(value_fault({{"type", "Boolean"}}, {true}, "\"true\"", BfclLanguage::javascript), "");
    EXPECT_NE(value_fault({{"type", "Boolean"}}, {true}, "true", BfclLanguage::javascript), "");
}

TEST(BfclChecker, NamesATypeItDoesNotKnow) {
    EXPECT_EQ(value_fault({{"type", "Stack"}}, {"x"}, "\"x\"", BfclLanguage::java),
              "the type \"Stack\" of parameter p is unknown");
    EXPECT_EQ(value_fault({{"type", "array"}}, Json::parse("[[1]]"), "[1]"),
              "the type of the elements of parameter p is unknown");
}

TEST(BfclChecker, ReadsCallsInOpenAisForm) {
    const std::vector<BfclCall> calls = bfcl_calls(Json::parse(
        R"([{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"p\": 1}"}},
            {"function": {"name": "g", "arguments": {"p": 2}}}, {"function": {"name": "h"}}, "?"])"));
    ASSERT_EQ(calls.size(), 4u);
    EXPECT_EQ(calls[0].name, "f");
    EXPECT_EQ(calls[0].arguments, "{\"p\": 1}");
    EXPECT_EQ(calls[1].arguments, "{\"p\":2}");
    EXPECT_EQ(calls[2].arguments, "");
    EXPECT_EQ(calls[3].name, "");
    EXPECT_TRUE(bfcl_calls(nullptr).empty());
}

TEST(BfclChecker, ShortensWhatItShows) {
    const std::string long_text(5000, 'x');
    EXPECT_LT(value_fault({{"type", "string"}}, {"y"}, "\"" + long_text + "\"").size(), 300u);
}

}  // namespace
}  // namespace colugo
