#include "bench/bfcl_literals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace colugo::bfcl {
namespace {

std::string java(std::string_view type, std::string_view text, std::string_view elements = {}) {
    return java_value(text, type, elements).dump();
}

std::string javascript(std::string_view type, std::string_view text, std::string_view elements = {}) {
    return javascript_value(text, type, elements).dump();
}

TEST(BfclLiterals, JavaHasAFormForEachTypeOfNumber) {
    EXPECT_EQ(java("integer", "-12"), "-12");
    EXPECT_EQ(java("integer", "12L"), "\"12L\"");
    EXPECT_EQ(java("long", "12L"), "12");
    EXPECT_EQ(java("long", "12"), "\"12\"");
    EXPECT_EQ(java("float", "1.5f"), "1.5");
    EXPECT_EQ(java("float", "1.5"), "\"1.5\"");
    EXPECT_EQ(java("double", "2"), "2.0");
    EXPECT_EQ(java("double", "1e2"), "100.0");
    EXPECT_EQ(java("boolean", "true"), "true");
    EXPECT_EQ(java("boolean", "True"), "\"True\"");
}

TEST(BfclLiterals, JavaHasListsArraysAndMaps) {
    EXPECT_EQ(java("ArrayList", "new ArrayList<String>(Arrays.asList(\"a\", \"b\"))", "String"), R"(["a","b"])");
    EXPECT_EQ(java("ArrayList", "new ArrayList<>() {{ add(1); add(2); }}", "integer"), "[1,2]");
    EXPECT_EQ(java("ArrayList", "new ArrayList<>()", "integer"), "[]");
    EXPECT_EQ(java("Array", "new int[]{1, 2}", "integer"), "[1,2]");
    EXPECT_EQ(java("Array", "new String[]{\"a\"}", "String"), R"(["\"a\""])");  // keeps the quotes, as bfcl-eval does
    EXPECT_EQ(java("HashMap", "new HashMap<String, List<String>>() {{ put(\"a\", 1); put(\"b\", \"x\"); }}"),
              R"({"a":1,"b":"x"})");
    EXPECT_EQ(java("HashMap", "new HashMap<>()"), "{}");
    EXPECT_EQ(java("HashMap", "config"), "\"config\"");
}

TEST(BfclLiterals, JavascriptHasItsOwnForms) {
    EXPECT_EQ(javascript("Bigint", "12n"), "12");
    EXPECT_EQ(javascript("float", "3"), "3.0");
    EXPECT_EQ(javascript("float", "3e2"), "\"3e2\"");
    EXPECT_EQ(javascript("String", "'a'"), "\"a\"");
    EXPECT_EQ(javascript("array", "[1, 'b', true]"), "[1,\"b\",true]");
    EXPECT_EQ(javascript("array", "new Array(1n, 2n)", "Bigint"), "[1,2]");
    EXPECT_EQ(javascript("array", " [ [1, 2], [3] ]", "array"), "[[1,2],[3]]");
    EXPECT_EQ(javascript("dict", "{url: 'http://a, b', tags: [\"x\", \"y\"], n: '5'}"),
              R"({"url":"http://a, b","tags":["x","y"],"n":5})");
    EXPECT_EQ(javascript("dict", "state"), "\"state\"");
}

std::string repeated(std::string_view text, size_t bytes) {
    std::string all;
    while (all.size() + text.size() <= bytes) all += text;
    return all;
}

TEST(BfclLiterals, ReadingEndsWhateverTheText) {
    const size_t bytes = kMostExpression - 100;
    EXPECT_TRUE(javascript_value(repeated("[", bytes), "array", {}).is_string());
    EXPECT_TRUE(javascript_value(fmt::format("[{}", repeated("[],", bytes)), "array", {}).is_array());
    EXPECT_TRUE(javascript_value(fmt::format("[{}[]]", repeated("[],", bytes)), "array", {}).is_array());
    EXPECT_TRUE(javascript_value(fmt::format("{{{}}}", repeated("a:,", bytes)), "dict", {}).is_object());
    EXPECT_TRUE(java_value(repeated("new ArrayList<>(Arrays.asList(", bytes), "ArrayList", {}).is_string());
    EXPECT_TRUE(java_value(repeated("new HashMap<>", bytes), "HashMap", {}).is_string());
    EXPECT_TRUE(java_value(fmt::format("new HashMap<>() {{{{{}}}}}", repeated("put(\"a\",", bytes)), "HashMap", {})
                    .is_object());
}

TEST(BfclLiterals, WhatIsTooLongIsText) {
    const std::string text = fmt::format("[{}]", std::string(kMostExpression, ' '));
    EXPECT_EQ(javascript_value(text, "array", {}).get<std::string>(), text);
}

}  // namespace
}  // namespace colugo::bfcl
