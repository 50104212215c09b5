// Masks and states over a vocabulary.
#include "sampling/token_grammar.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "sampling/grammar_cache.h"
#include "sampling/grammar_harness.h"
#include "support/allocation_counter.h"
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

// Patterns that take nearly any text: what is set apart for strings is right for them, and where it is not, is looked
// at.
TEST(TokenGrammar, MasksOfWidePatterns) {
    for (const char* pattern :
         {"^.*$", "^[A-Za-z].*[.!?]$", "[a-z].*[0-9]", "^.{3,40}$", "^(x|[^\\u2028]*\\x01)$", "^[^<]*$"}) {
        auto schema = json(R"({"type": "string"})");
        schema["pattern"] = pattern;
        TokenGrammar grammar = token_grammar(json_schema_grammar(schema));
        for (const char* text : {"\"the abc", "\"x", "\"ab\xE2\x82\xAC 12", "\"\xF0\x9F\x98\x80"}) {
            if (testing::begins(grammar, text)) expect_mask_to_be_what_follows(grammar, tokens_of(text, true));
        }
        expect_mask_to_be_what_follows(grammar, tokens_of("\"", true));
    }
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

TEST(TokenGrammar, StatesOfALongStringStaySmall) {
    TokenGrammar grammar = token_grammar(json_schema_grammar(json(R"({"type": "string", "maxLength": 32768})")));
    GrammarState state = *grammar.after(grammar.start(), '"');
    int64_t most = 0;
    for (int i = 0; i < 30'000; ++i) {
        EXPECT_TRUE(grammar.allowed(state).contains('x'));
        state = *grammar.after(state, 'x');
        most = std::max(most, grammar.bytes());
    }
    EXPECT_LT(most, 12 << 20);
    EXPECT_TRUE(grammar.is_full());
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

// Of words, with their masks and the only choices, as an engine asks for them.
void follow(TokenGrammar& grammar, const std::vector<int32_t>& tokens) {
    GrammarState state = grammar.start();
    for (const int32_t token : tokens) {
        ASSERT_TRUE(grammar.allowed(state).contains(token));
        grammar.only_choice(state);
        state = *grammar.after(state, token);
    }
}

// What a step asks of a grammar costs it no memory: neither of a text that is new to it, once masks have their places,
// nor of one it knows.
TEST(TokenGrammar, TakesNothingFromTheHeap) {
    const auto masks = std::make_shared<MaskCache>(testing::vocabulary_size());
    for (int64_t i = 0; i < masks->most(); ++i) masks->add(masks->new_owner(), 0);
    const std::vector<CallTool> tools = {{"f", json(kSchema)}};
    const auto object = json(kSchema);
    const auto compiled = std::make_shared<const ByteGrammar>(json_or_call_grammar(
        &object, tools, {.open = testing::tool_open(), .close = testing::tool_close()}, testing::thought_end()));
    TokenGrammar grammar(compiled, testing::vocabulary(), std::vector<int32_t>{testing::reply_end()}, masks);
    const std::vector<int32_t> texts[] = {
        tokens_of("Hm<.>{\"b\": \"the \\\"\xE2\x82\xAC\", \"x\": [12, 123],\n    \"q\": \"ab\", \"r\": \"\"}", true),
        tokens_of(
            "Hm<.>\n<+>\n<function=f>\n<parameter=b>\nabc\n</\n</parameter>\n<parameter=x>\n[1, 2]\n</parameter>\n"
            "</function>\n<->\n<+>\n<function=f>\n",
            false)};
    const size_t before = allocation_count();
    for (const std::vector<int32_t>& text : texts) follow(grammar, text);
    EXPECT_EQ(allocation_count(), before);
    EXPECT_FALSE(grammar.is_full());
    // More states than there is room for take memory, once.
    std::string nested = "Hm<.>{\"b\": \"\"";
    for (int i = 0; i < 3000; ++i) nested += fmt::format(", \"k{:x}\": \"{}\"", i, i % 1000);
    const std::vector<int32_t> long_text = tokens_of(nested, true);
    follow(grammar, long_text);
    const size_t known = allocation_count();
    follow(grammar, long_text);
    EXPECT_EQ(allocation_count(), known);
}

TEST(MaskCache, KeepsWhatWasUsedLast) {
    MaskCache masks(8 * MaskCache::kBytes);  // room for the fewest masks there are
    const int64_t most = masks.most();
    ASSERT_EQ(most, 16);
    const auto keep = [&](uint32_t owner, uint32_t state) {
        MaskCache::Entry& entry = masks.add(owner, state);
        entry.count = 1000 * owner + state;
    };
    const uint32_t a = masks.new_owner(), b = masks.new_owner();
    for (uint32_t i = 0; i < 8; ++i) {
        keep(a, i);
        keep(b, i);
    }
    EXPECT_EQ(masks.size(), most);
    for (uint32_t i = 0; i < 8; ++i) ASSERT_NE(masks.find(a, i), nullptr);
    for (uint32_t i = 8; i < 16; ++i) keep(a, i);
    EXPECT_EQ(masks.size(), most);
    for (uint32_t i = 0; i < 16; ++i) {
        const MaskCache::Entry* found = masks.find(a, i);
        ASSERT_NE(found, nullptr) << i;
        EXPECT_EQ(found->count, 1000 * a + i);
        EXPECT_EQ(masks.find(b, i), nullptr);
    }
}

// Many keys, over and over: what is found is what was put there.
TEST(MaskCache, AgreesWithAMap) {
    MaskCache masks(64);
    ASSERT_EQ(masks.most(), MaskCache::kMostMasks);
    std::mt19937 random(7);
    std::map<std::pair<uint32_t, uint32_t>, int64_t> all;
    for (int64_t i = 0; i < 60'000; ++i) {
        const auto owner = static_cast<uint32_t>(random() % 3), state = static_cast<uint32_t>(random() % 3000);
        if (const MaskCache::Entry* found = masks.find(owner, state)) {
            ASSERT_EQ(found->count, (all.at({owner, state})));
            continue;
        }
        masks.add(owner, state).count = all[{owner, state}] = i;
    }
}

// Of hundreds of patterns that could all go on, the first are followed: what is written is one of them to its end.
TEST(TokenGrammar, FollowsSoManyStringsAtOnce) {
    auto schema = json("{}");
    for (int i = 0; i < 300; ++i)
        schema["anyOf"].push_back({{"type", "string"}, {"pattern", fmt::format("^[a-z ]{{3,}}{}$", i)}});
    schema["anyOf"].push_back({{"const", 7}});
    TokenGrammar grammar = token_grammar(json_schema_grammar(schema));
    for (const char* text : {"\"the0\"", "\"the ab31\"", "7"}) {
        EXPECT_TRUE(testing::accepts(grammar, text)) << text;
        expect_mask_to_be_what_follows(grammar, tokens_of(text, true));
    }
    EXPECT_FALSE(testing::begins(grammar, "\"the299"));
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const std::string text = testing::Walker(seed).walk(grammar);
        const auto value = nlohmann::json::parse(text, nullptr, false);
        EXPECT_TRUE(value == 7 || value.is_string()) << text;
    }
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
    const int64_t size = testing::token_grammar(json_object_grammar()).bytes() + json_object_grammar().bytes() + 2;
    GrammarCache cache(testing::vocabulary(), {testing::reply_end()}, 3 * size - 1);
    const auto first = cache.get("a", compile);
    EXPECT_EQ(cache.get("a", compile), first);
    EXPECT_EQ(compiled, 1);
    cache.get("b", compile);
    cache.get("a", compile);
    cache.get("c", compile);  // b goes
    EXPECT_EQ(cache.size(), 2);
    EXPECT_LE(cache.bytes(), 3 * size);
    EXPECT_EQ(cache.get("a", compile), first);
    EXPECT_EQ(compiled, 3);
    cache.get("b", compile);
    EXPECT_EQ(compiled, 4);
    // Where its states have filled it, the next request begins with a fresh one.
    EXPECT_FALSE(cache.get("b", compile)->is_full());
    const auto counted =
        cache.get("d", [] { return json_schema_grammar(json(R"({"type": "string", "maxLength": 9000})")); });
    GrammarState state = *counted->after(counted->start(), '"');
    for (int i = 0; i < 8000; ++i) {
        counted->allowed(state);
        state = *counted->after(state, 'x');
    }
    EXPECT_TRUE(counted->is_full());
    EXPECT_NE(cache.get("d", compile), counted);
    EXPECT_EQ(compiled, 4);
    EXPECT_THROW(cache.get("x", []() -> ByteGrammar { fail(ErrorCode::invalid_argument, "no"); }), Error);
    EXPECT_EQ(cache.size(), 1);  // the last one, whatever it takes
}

}  // namespace
}  // namespace colugo
