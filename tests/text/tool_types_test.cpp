#include "text/tool_types.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "text/python_literal.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

uint8_t types_of(const std::string& schema, const std::string& definitions = "{}") {
    const auto tools =
        tool_types(ordered_json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"$defs": )" +
                                       definitions + R"(, "properties": {"x": )" + schema + "}}}}]"));
    return tools.at(0).find("x")->types.bits;
}

TEST(ToolTypes, AreReadFromAllPlacesASchemaHasThem) {
    using Types = ValueTypes;
    EXPECT_EQ(types_of(R"({"type": "integer"})"), Types::integer);
    EXPECT_EQ(types_of(R"({"type": ["boolean", "null"]})"), Types::boolean | Types::null);
    EXPECT_EQ(types_of(R"({"enum": ["a", 1]})"), Types::string | Types::integer);
    EXPECT_EQ(types_of(R"({"const": true})"), Types::boolean);
    EXPECT_EQ(types_of(R"({"anyOf": [{"type": "number"}, {"oneOf": [{"type": "null"}]}]})"),
              Types::number | Types::null);
    EXPECT_EQ(types_of(R"({"properties": {}})"), Types::object);
    EXPECT_EQ(types_of(R"({"items": {}})"), Types::array);
    EXPECT_EQ(types_of(R"({"description": "?"})"), Types::string);
    EXPECT_EQ(types_of(R"({"type": "nonsense"})"), Types::string);
    EXPECT_EQ(types_of(R"({"$ref": "#/$defs/n"})", R"({"n": {"type": "integer"}})"), Types::integer);
    EXPECT_EQ(types_of(R"({"$ref": "#/$defs/n"})", R"({"n": {"$ref": "#/$defs/n"}})"), Types::string);
    EXPECT_EQ(types_of(R"({"$ref": "http://elsewhere"})"), Types::string);
}

TEST(ToolTypes, PartsOfAllOfNarrowOneAnother) {
    using Types = ValueTypes;
    EXPECT_EQ(types_of(R"({"allOf": [{"type": ["integer", "null"]}, {"description": "d"}]})"),
              Types::integer | Types::null);
    EXPECT_EQ(types_of(R"({"allOf": [{"type": ["integer", "null"]}, {"type": "number"}]})"), Types::integer);
    EXPECT_EQ(types_of(R"({"allOf": [{"type": "number"}, {"type": ["number", "string"]}]})"), Types::number);
    EXPECT_EQ(types_of(R"({"allOf": [{"type": "boolean"}, {"type": "null"}]})"), Types::boolean | Types::null);
    EXPECT_EQ(types_of(R"({"allOf": [{"$ref": "#/$defs/n"}]})", R"({"n": {"enum": [1, 2]}})"), Types::integer);
}

TEST(ToolTypes, ParametersAreFoundWhereverTheSchemaHasThem) {
    using Types = ValueTypes;
    const auto read = [](const std::string& schema) {
        std::vector<std::pair<std::string, int>> found;
        const std::vector<ToolTypes> types = tool_types(
            ordered_json::array({{{"function", {{"name", "f"}, {"parameters", ordered_json::parse(schema)}}}}}));
        for (const ToolTypes::Parameter& one : types.at(0).parameters) found.emplace_back(one.name, one.types.bits);
        return found;
    };
    using Found = std::vector<std::pair<std::string, int>>;
    const std::string defs =
        R"("$defs": {"N": {"type": "integer"}, "Q": {"properties": {"n": {"$ref": "#/$defs/N"}}}})";
    EXPECT_EQ(read("{\"$ref\": \"#/$defs/Q\", " + defs + "}"), Found({{"n", Types::integer}}));
    EXPECT_EQ(read(R"({"properties": {"a": {"$ref": "#/$defs/N"}}, "allOf": [{"$ref": "#/$defs/Q"},
                       {"properties": {"b": {"type": "boolean"}}}], )" +
                   defs + "}"),
              Found({{"a", Types::integer}, {"n", Types::integer}, {"b", Types::boolean}}));
    // Of one that several parts have, alternatives add up and parts of allOf narrow.
    const std::string a =
        R"([{"properties": {"x": {"type": ["string", "null"]}}}, {"properties": {"x": {"type": "null"}}}])";
    EXPECT_EQ(read("{\"allOf\": " + a + "}"), Found({{"x", Types::null}}));
    EXPECT_EQ(read("{\"anyOf\": " + a + "}"), Found({{"x", Types::string | Types::null}}));
    EXPECT_EQ(read(R"({"$ref": "#"})"), Found());
    EXPECT_EQ(read(R"({"properties": {"x": {}}, "allOf": [{"$ref": "#"}, {"$ref": "#"}]})"),
              Found({{"x", Types::string}}));
    // Many parameters are read as one is.
    std::string many;
    for (int i = 0; i < 400; ++i) many += fmt::format(R"("p{}": {{"anyOf": [{{"type": "integer"}}]}},)", i);
    const Found found = read(R"({"properties": {)" + many + R"("last": {"type": "integer"}}})");
    ASSERT_EQ(found.size(), 401u);
    for (const auto& [name, bits] : found) EXPECT_EQ(bits, Types::integer) << name;
}

TEST(ToolTypes, OtherThingsAreLeftOut) {
    EXPECT_TRUE(tool_types(nullptr).empty());
    EXPECT_TRUE(tool_types(ordered_json::parse(R"([1, {}, {"function": {}}, {"function": {"name": 5}}])")).empty());
    EXPECT_EQ(tool_types(ordered_json::parse(R"([{"function": {"name": "f", "parameters": 7}}])")).size(), 1u);
}

TEST(ArgumentJson, TakesTheTypeThatFits) {
    using Types = ValueTypes;
    const auto json = [](std::string_view text, int bits) { return argument_json(text, {static_cast<uint8_t>(bits)}); };
    EXPECT_EQ(json("5", Types::string), "\"5\"");
    EXPECT_EQ(json(" 5 ", Types::integer), "5");
    EXPECT_EQ(json("5.0", Types::integer), "5");
    EXPECT_EQ(json("5.5", Types::integer), "\"5.5\"");
    EXPECT_EQ(json("1e400", Types::integer), "\"1e400\"");
    EXPECT_EQ(json("123456789012345678901234567890", Types::number), "123456789012345678901234567890");
    EXPECT_EQ(json("True", Types::boolean), "true");
    EXPECT_EQ(json("yes", Types::boolean), "\"yes\"");
    EXPECT_EQ(json("None", Types::integer), "null");
    EXPECT_EQ(json("None", Types::string | Types::integer), "\"None\"");
    EXPECT_EQ(json("None", Types::string | Types::null), "null");
    EXPECT_EQ(json("{'a': [True, None, (1, 2,)], \"b\": 'it\\'s'}", Types::object),
              R"({"a":[true,null,[1,2]],"b":"it's"})");
    EXPECT_EQ(json("007", Types::integer), "\"007\"");
    EXPECT_EQ(json("", Types::integer), "\"\"");
    EXPECT_EQ(json(std::string("1\0}", 3), Types::integer), "\"1\\u0000}\"");
    EXPECT_EQ(json("a\"\n\x01", Types::string), "\"a\\\"\\n\\u0001\"");
}

TEST(Literal, IsJsonOrPythons) {
    EXPECT_EQ(parse_literal("{\"a\": 1}"), ordered_json({{"a", 1}}));
    EXPECT_EQ(parse_literal("['\\x41\\u00e9', 1.5, ]"), ordered_json::array({"A\xC3\xA9", 1.5}));
    for (const char* none :
         {"", "{", "[1", "{1: 2}", "'a", "{'a' 1}", "nope", "[1 2]", "1 2", "'\\q'", "'\\ud83d'", "+1"}) {
        EXPECT_TRUE(parse_literal(none).is_discarded()) << none;
    }
    EXPECT_TRUE(parse_literal(std::string(100000, '[')).is_discarded());
    EXPECT_TRUE(parse_literal(std::string_view("{}\0", 3)).is_discarded());
    EXPECT_TRUE(parse_literal(std::string(100000, '(')).is_discarded());
}

// What may be whole is parsed, and what may not is none.
TEST(Literal, MayBeWholeWhereItIsAValue) {
    for (const std::string text : {R"({"a": [1, {"b": "}]\\\""}], "c": "it's"})", R"( )",
                                   "{'a': ('\"}', 1,), 'b': '\\''} \n", "[]{}", "[1] ]", R"({"a": "\"}"} "more")"}) {
        LiteralProgress whole, bytes;
        size_t values = 0;
        for (size_t at = 0; at < text.size(); ++at) {
            bytes.feed(text.substr(at, 1));
            const bool value = !parse_literal(text.substr(0, at + 1)).is_discarded();
            EXPECT_EQ(bytes.may_be_whole(), value) << text.substr(0, at + 1);
            values += value;
        }
        whole.feed(text);
        EXPECT_EQ(whole.may_be_whole(), bytes.may_be_whole()) << text;
        EXPECT_EQ(values > 0, text != " ") << text;
    }
    LiteralProgress mixed;
    mixed.feed("[}");
    EXPECT_TRUE(mixed.may_be_whole());  // which parse_literal then denies
}

}  // namespace
}  // namespace colugo
