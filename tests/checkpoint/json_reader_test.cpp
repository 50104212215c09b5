#include "checkpoint/json_reader.h"

#include <nlohmann/json.hpp>

#include "support/expect_error.h"

namespace colugo {
namespace {

using nlohmann::json;

TEST(JsonReader, LimitsNesting) {
    EXPECT_NO_THROW(parse_json("[[1]]", "f", 2));
    EXPECT_ERROR(ErrorCode::invalid_file, "f is nested deeper than 2 levels", parse_json("[[[1]]]", "f", 2));
    EXPECT_ERROR(ErrorCode::invalid_file, "nested deeper", parse_json(std::string(1 << 20, '['), "f"));
    std::string objects;
    for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
    EXPECT_ERROR(ErrorCode::invalid_file, "nested deeper", parse_json(objects, "f"));
}

TEST(JsonReader, RefusesTheSameKeyTwice) {
    EXPECT_NO_THROW(parse_json(R"({"a":{"a":1},"b":{"a":2}})", "f"));
    EXPECT_ERROR(ErrorCode::invalid_file, "f holds the key \"b\" twice", parse_json(R"({"a":{"b":1,"b":1}})", "f"));
}

TEST(JsonReader, SaysWhatIsWrong) {
    EXPECT_ERROR(ErrorCode::invalid_file, "f is not JSON: parse error at line 1", parse_json("{", "f"));
    EXPECT_ERROR(ErrorCode::invalid_file, "f is not JSON", parse_json("1e999", "f"));
    EXPECT_ERROR(ErrorCode::invalid_file, "f is not JSON", parse_json("", "f"));
    EXPECT_ERROR(ErrorCode::invalid_file, "f holds [1]; expected a JSON object", parse_json_object("[1]", "f"));
}

TEST(JsonReader, ReadsFieldsByTypeAndRange) {
    const json object = json::parse(R"({"i":4,"f":4.0,"s":"x","b":true,"n":null,"l":["a","b"],"m":["a",1],
                                        "big":18446744073709551615,"o":{"i":-1}})");
    const JsonFields fields(object, "f");
    EXPECT_EQ(fields.integer("i", 0, 4), 4);
    EXPECT_EQ(fields.integer("n", 0, 4), std::nullopt);
    EXPECT_EQ(fields.integer("absent", 0, 4), std::nullopt);
    EXPECT_EQ(fields.number("i", 0, 9), 4.0);
    EXPECT_EQ(fields.number("f", 0, 9), 4.0);
    EXPECT_EQ(fields.strings("l"), (std::vector<std::string>{"a", "b"}));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: f is 4.0; expected a whole number from 0 to 9",
                 fields.integer("f", 0, 9));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: b is true; expected a whole number", fields.integer("b", 0, 9));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: i is 4; expected a whole number from 5 to 9", fields.integer("i", 5, 9));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: big is 18446744073709551615", fields.integer("big", 0, INT64_MAX));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: n is missing; expected a whole number",
                 fields.required_integer("n", 0, 9));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: s is \"x\"; expected a number", fields.number("s", 0, 9));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: i is 4; expected true or false", fields.boolean("i"));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: i is 4; expected a string", fields.string("i"));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: m is [\"a\",1]; expected a list of strings", fields.strings("m"));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: i is 4; expected an object", fields.object("i"));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: o.i is -1; expected", fields.object("o")->integer("i", 0, 9));
}

}  // namespace
}  // namespace colugo
