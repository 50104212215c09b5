#include "bench/bfcl_request.h"

#include <gtest/gtest.h>

namespace colugo {
namespace {

using Json = nlohmann::ordered_json;

Json properties_of(const std::string& properties) {
    const Json functions = Json::parse(R"([{"name": "f", "parameters": {"type": "dict", "properties": )" + properties +
                                       R"(, "required": []}}])");
    return bfcl_tools(functions)[0]["function"]["parameters"]["properties"];
}

TEST(BfclRequest, FunctionsBecomeTools) {
    const Json functions = Json::parse(
        R"([{"name": "a.b.c", "description": "D", "parameters": {"type": "dict",
            "properties": {"x": {"type": "integer"}}, "required": ["x"]}, "response": {"type": "dict"}}])");
    EXPECT_EQ(bfcl_tools(functions).dump(),
              R"([{"type":"function","function":{"name":"a_b_c","description":"D","parameters":{"type":"object",)"
              R"("properties":{"x":{"type":"integer"}},"required":["x"]},"response":{"type":"dict"}}}])");
}

TEST(BfclRequest, TypesBecomeThoseOfJsonSchema) {
    EXPECT_EQ(properties_of(R"({"a": {"type": "dict"}, "b": {"type": "ArrayList"}, "c": {"type": "Bigint"},
                                "d": {"type": "any"}, "e": {}, "f": {"type": "Boolean"}, "g": {"type": "double"}})")
                  .dump(),
              R"({"a":{"type":"object"},"b":{"type":"array"},"c":{"type":"integer"},"d":{"type":"string"},)"
              R"("e":{"type":"string"},"f":{"type":"string"},"g":{"type":"number"}})");
    EXPECT_EQ(properties_of(R"({"a": {"type": "float", "description": "Kilos."}})").dump(),
              R"({"a":{"type":"number","description":"Kilos. This is a float type value.","format":"float"}})");
}

TEST(BfclRequest, TypesWithinTypesToo) {
    EXPECT_EQ(properties_of(R"({"a": {"type": "tuple", "items": {"type": "float"}},
                                "b": {"type": "array", "items": {"type": "list", "items": {"type": "dict"}}},
                                "c": {"type": "array", "items": {"type": "dict", "properties": {"x": {"type": "any"}}}},
                                "d": {"type": "dict", "properties": {"y": {"type": "dict", "properties": {}}}}})")
                  .dump(),
              R"({"a":{"type":"array","items":{"type":"number"}},)"
              R"("b":{"type":"array","items":{"type":"array","items":{"type":"object"}}},)"
              R"("c":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}},)"
              R"("d":{"type":"object","properties":{"y":{"type":"object","properties":{}}}}})");
}

TEST(BfclRequest, LeavesOutToolsWhereThereAreNone) {
    BfclSample sample{
        &bfcl_subsets().back(), "x", Json::parse(R"([{"role": "user", "content": "Hi"}])"), Json::array(), {}};
    EXPECT_EQ(bfcl_request(sample).dump(), R"({"messages":[{"role":"user","content":"Hi"}]})");
    sample.functions = Json::parse(R"([{"name": "f", "parameters": {"properties": {}, "required": []}}])");
    EXPECT_EQ(bfcl_request(sample)["tool_choice"], "auto");
    EXPECT_EQ(bfcl_request(sample)["tools"].size(), 1u);
}

}  // namespace
}  // namespace colugo
