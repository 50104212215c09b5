// Masks and states over a vocabulary.
#include "sampling/token_grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sampling/grammar_cache.h"
#include "sampling/grammar_harness.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using testing::json;
using testing::token_grammar;
using testing::tokens_of;

constexpr const char* kSchema =
    R"({"type": "object", "properties": {"b": {"type": "string"}, "x": {"type": "array", "items": {"type": "integer"}}},
                                    "required": ["b"], "additionalProperties": {"type": "string", "maxLength": 3}})";

void expect_mask_to_be_what_follows(TokenGrammar& grammar, const std::vector<int32_t>& tokens) {
    GrammarState state = grammar.start();
    for (size_t i = 0;; ++i) {
        const TokenMask mask = grammar.allowed(state);
        for (int32_t id = 0; id < testing::vocabulary_size(); ++id)
            EXPECT_EQ(mask.contains(id), grammar.after(state, id).has_value()) << "token " << id << " behind " << i;
        if (i == tokens.size()) return;
        ASSERT_TRUE(mask.contains(tokens[i])) << i;
        state = *grammar.after(state, tokens[i]);
    }
}

TEST(TokenGrammar, MasksAreWhatMayFollow) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(json(kSchema)));
    expect_mask_to_be_what_follows(
        grammar,
        tokens_of("{\"b\": \"a\\n\\\"\xE2\x82\xAC\\u00e9\", \"x\": [12, 3], \"y\": \"abc\", \"z\":\"\"}", true));
    expect_mask_to_be_what_follows(
        grammar, tokens_of("{\"b\": \"a\\n\\\"\xE2\x82\xAC\\u00e9\", \"x\": [12, 3], \"y\": \"abc\", \"z\":\"\"}"));
    const std::vector<CallTool> tools = {
        {"f",
         json(
             R"({"properties": {"s": {"type": "string"}, "n": {"anyOf": [{"type": "string", "minLength": 2, "maxLength": 5}, {"type": "object"}]}}})")}};
    TokenGrammar calls = token_grammar(
        call_grammar(tools, {.open = testing::tool_open(), .close = testing::tool_close()}, testing::thought_end()));
    expect_mask_to_be_what_follows(
        calls, tokens_of("Hm<.>Text<+>\n<function=f>\n<parameter=s>\nthe \"abc\"\n\n<b>\n</\xE2\x82\xAC\n</parameter>\n"
                         "<parameter=n>\nab\nc\n</parameter>\n</function>\n<->",
                         true));
}

// A reading with a limit beside one without, and two with different ones: none of the vocabulary is lost.
TEST(TokenGrammar, MasksCoverAllReadings) {
    TokenGrammar grammar = token_grammar(
        json_schema_grammar(json(R"({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "string", "maxLength": 4},
                                                                                {"type": "string", "pattern": "^a*b?\n?$"}]})")));
    for (const char* text : {"\"abcd\"", "\"aaaaaab\"", "\"ab\xE2\x82\xAC\"", "\"\"", "\"ab\\n\""})
        expect_mask_to_be_what_follows(grammar, tokens_of(text, true));
}

TEST(TokenGrammar, ATokenMayCrossManyParts) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(
        json(R"({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}})")));
    const auto inside = testing::state_after(grammar, tokens_of("[{\"a\": \"x"));
    ASSERT_TRUE(inside);
    const auto allows = [&](const char* word) { return grammar.allowed(*inside).contains(tokens_of(word, true)[0]); };
    EXPECT_TRUE(allows("\"}"));
    EXPECT_FALSE(allows("\"]"));
    EXPECT_FALSE(allows("\", \""));  // no further property
    EXPECT_TRUE(allows("\xE2\x82"));
    EXPECT_TRUE(allows("a\xC3"));
    EXPECT_FALSE(allows("\x98\x80"));
    EXPECT_FALSE(allows("\n  "));
}

TEST(TokenGrammar, StatesDependOnTheTextAlone) {
    const std::vector<CallTool> tools = {{"f", json(kSchema)}};
    TokenGrammar schema = token_grammar(json_schema_grammar(json(kSchema)));
    TokenGrammar calls =
        token_grammar(call_grammar(tools, {.open = testing::tool_open(), .close = testing::tool_close()}));
    for (const auto& [grammar, text] :
         {std::pair{
              &schema,
              std::string("{\"b\": \"the \\\"\xE2\x82\xAC\xF0\x9F\x98\x80\", \"x\": [12, 123],\n    \"q\": \"ab\"}")},
          std::pair{&calls, std::string("the<+>\n<function=f>\n<parameter=b>\nabc\n</\n</parameter>\n")}})
        for (size_t end = 0; end <= text.size(); ++end) {
            const std::string head = text.substr(0, end);
            const auto by_bytes = testing::state_after(*grammar, tokens_of(head)),
                       by_words = testing::state_after(*grammar, tokens_of(head, true));
            // A cut inside what spells a control token here is no text of the grammar.
            EXPECT_EQ(by_bytes, by_words) << head;
        }
    // In a string it does not matter what was written.
    EXPECT_EQ(testing::state_after(schema, tokens_of("{\"b\":\"abc")),
              testing::state_after(schema, tokens_of("{ \"b\": \"\\n")));
    // Asking for masks and other ways changes nothing.
    const auto state = testing::state_after(schema, tokens_of("{\"b\":\""));
    for (const char* other : {"x", "\"}", "\", \"x\":[1"}) {
        GrammarState way = *state;
        for (const int32_t token : tokens_of(other)) {
            schema.allowed(way);
            way = *schema.after(way, token);
        }
    }
    EXPECT_EQ(testing::state_after(schema, tokens_of("{\"b\":\"")), state);
}

TEST(TokenGrammar, TellsTheOnlyChoice) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(json(R"({"const": "q"})")));
    const auto choice = [&](const char* text) {
        return grammar.only_choice(*testing::state_after(grammar, tokens_of(text)));
    };
    EXPECT_EQ(choice("\""), 'q');
    EXPECT_EQ(choice("\"q"), '"');
    EXPECT_EQ(choice("\"q\""), testing::reply_end());
    EXPECT_EQ(choice(""), std::nullopt);  // a line break may precede
}

TEST(TokenGrammar, EndsWhereTheTextMayEnd) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(json(R"({"type": "integer"})")));
    const GrammarState start = grammar.start(), number = *grammar.after(start, '5');
    EXPECT_FALSE(grammar.may_end(start));
    EXPECT_FALSE(grammar.after(start, testing::reply_end()));
    EXPECT_TRUE(grammar.may_end(number));
    EXPECT_EQ(grammar.after(number, testing::reply_end()), number);
    EXPECT_TRUE(grammar.allowed(number).contains('6'));
}

TEST(TokenGrammar, ForbidsWhatIsNoTextToken) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(json(R"({"type": "string"})")));
    const GrammarState inside = *testing::state_after(grammar, tokens_of("\"a"));
    for (const int32_t id : {testing::tool_open(), testing::other_control(), testing::other_control() + 1}) {
        EXPECT_FALSE(grammar.allowed(inside).contains(id));
        EXPECT_FALSE(grammar.after(inside, id));
    }
    EXPECT_FALSE(grammar.after(inside, -1));
    EXPECT_FALSE(grammar.after(inside, static_cast<int32_t>(testing::vocabulary_size())));
}

TEST(TokenGrammar, LeavesThoughtsFree) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(json(R"({"type": "integer"})"), testing::thought_end()));
    const TokenMask mask = grammar.allowed(grammar.start());
    // All but the end: there is no answer yet.
    EXPECT_EQ(mask.count(), testing::vocabulary()->all().count() - 1);
    EXPECT_FALSE(mask.contains(testing::reply_end()));
    EXPECT_FALSE(mask.contains(testing::other_control() + 1));
    EXPECT_EQ(grammar.after(grammar.start(), 0xFF), grammar.start());
    EXPECT_EQ(grammar.after(grammar.start(), testing::other_control()), grammar.start());
    EXPECT_TRUE(testing::accepts(grammar, "{\"no\":<.>\n\n5"));
    EXPECT_FALSE(testing::begins(grammar, "x<.>x"));
    EXPECT_FALSE(testing::begins(grammar, "x<.>5<.>"));
}

TEST(TokenGrammar, KeepsMasksWithinTheirBytes) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(json(R"({"type": "string", "maxLength": 32768})")));
    GrammarState state = *grammar.after(grammar.start(), '"');
    int64_t most = 0;
    for (int i = 0; i < 30'000; ++i) {
        EXPECT_TRUE(grammar.allowed(state).contains('x'));
        state = *grammar.after(state, 'x');
        most = std::max(most, grammar.bytes());
    }
    EXPECT_LT(most, TokenGrammar::kMaskBytes + (12 << 20));
    EXPECT_FALSE(
        grammar.allowed(*testing::state_after(grammar, tokens_of(fmt::format("\"{:x<32768}", "")))).contains('x'));
}

// Every reading nests in the same way: stacks are shared, so states do not multiply.
TEST(TokenGrammar, StaysSmallWhereReadingsMultiply) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(json(R"({"$defs": {"t": {"anyOf": [
        {"type": "array", "items": {"$ref": "#/$defs/t"}}, {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 3},
        {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "null"}]}}]}}, "$ref": "#/$defs/t"})")));
    const std::string deep = std::string(60, '[') + std::string(60, ']');
    EXPECT_TRUE(testing::accepts(grammar, deep));
    EXPECT_TRUE(testing::accepts(grammar, "[[null,[]],[[],null]]"));
    EXPECT_LT(grammar.bytes(), 2 << 20);
}

TEST(GrammarVocabulary, NeedsEveryByte) {
    EXPECT_ERROR(ErrorCode::unsupported, "0x41", GrammarVocabulary(256, [](int32_t id) {
                     static const std::string bytes = [] {
                         std::string all;
                         for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
                         return all;
                     }();
                     return VocabularyToken{
                         id == 0x41 ? std::string_view() : std::string_view(bytes).substr(static_cast<size_t>(id), 1),
                         false};
                 }));
}

TEST(GrammarCache, KeepsWhatWasUsedLast) {
    int compiled = 0;
    const auto compile = [&] {
        ++compiled;
        return json_object_grammar();
    };
    const int64_t size = json_object_grammar().bytes();
    GrammarCache cache(3 * size);
    const auto first = cache.get("a", compile);
    EXPECT_EQ(cache.get("a", compile), first);
    EXPECT_EQ(compiled, 1);
    cache.get("b", compile);
    cache.get("a", compile);
    cache.get("c", compile);  // b goes: three are more than their texts leave room for
    EXPECT_EQ(cache.size(), 2);
    EXPECT_LE(cache.bytes(), 3 * size);
    EXPECT_EQ(cache.get("a", compile), first);
    EXPECT_EQ(compiled, 3);
    cache.get("b", compile);
    EXPECT_EQ(compiled, 4);
    EXPECT_THROW(cache.get("x", []() -> ByteGrammar { fail(ErrorCode::invalid_argument, "no"); }), Error);
    EXPECT_EQ(cache.size(), 2);
}

}  // namespace
}  // namespace colugo
