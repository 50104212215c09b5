#include "text/output_parser.h"

#include <gtest/gtest.h>

#include <random>

namespace colugo {
namespace {

using nlohmann::ordered_json;
using Thought = OutputParser::Thought;

const std::vector<ToolTypes>& tools() {
    static const std::vector<ToolTypes> all = tool_types(ordered_json::parse(R"([
        {"type": "function", "function": {"name": "write_file", "parameters": {"type": "object", "properties": {
            "path": {"type": "string"}, "content": {"type": "string"}}}}},
        {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {
            "city": {"type": "string"}, "state": {"type": "string"}, "days": {"type": "integer"},
            "flag": {"type": ["boolean", "null"]}, "note": {"type": ["string", "null"]},
            "any": {"type": ["string", "integer"]}, "where": {"type": "object"}}}}},
        {"type": "function", "function": {"name": "get_ip", "parameters": {"type": "object", "properties": {}}}}
    ])"));
    return all;
}

struct Parsed {
    std::string reasoning, content;
    std::vector<std::pair<std::string, std::string>> calls;  // name, arguments
    size_t ended_calls = 0;
    bool operator==(const Parsed&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Parsed& parsed) {
    out << "reasoning [" << parsed.reasoning << "] content [" << parsed.content << "]";
    for (const auto& [name, arguments] : parsed.calls) out << " " << name << arguments;
    return out;
}

void gather(std::vector<ReplyPiece>& pieces, Parsed& parsed) {
    for (const ReplyPiece& piece : pieces) {
        switch (piece.kind) {
            case ReplyPiece::Kind::reasoning:
                parsed.reasoning += piece.text;
                break;
            case ReplyPiece::Kind::content:
                parsed.content += piece.text;
                break;
            case ReplyPiece::Kind::call:
                EXPECT_EQ(parsed.ended_calls, parsed.calls.size());
                parsed.calls.emplace_back(piece.text, "");
                break;
            case ReplyPiece::Kind::arguments:
                parsed.calls.back().second += piece.text;
                break;
            case ReplyPiece::Kind::call_end:
                ++parsed.ended_calls;
                break;
        }
    }
    pieces.clear();
}

size_t character_end(std::string_view text, size_t at) {
    for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;) ++at;
    return at;
}

struct Way {
    OutputParser::Options options = {.tools = &tools()};
    bool cut = false;
};

// Where the names of control tokens stand in the text they are these tokens. next_end: where the piece ends that begins
// at a place.
template <typename NextEnd>
Parsed parse_in_pieces(std::string_view text, const Way& way, const NextEnd& next_end) {
    OutputParser parser(way.options);
    std::vector<ReplyPiece> pieces;
    Parsed parsed;
    for (size_t at = 0; at < text.size();) {
        size_t mark = 0;
        while (mark < std::size(kReplyMarks) && !text.substr(at).starts_with(kReplyMarks[mark])) ++mark;
        if (mark < std::size(kReplyMarks)) {
            parser.feed(static_cast<ReplyMark>(mark), pieces);
            at += kReplyMarks[mark].size();
        } else {
            size_t end = next_end(at);
            for (const std::string_view name : kReplyMarks) end = std::min(end, text.find(name, at));
            parser.feed(text.substr(at, end - at), pieces);
            at = end;
        }
        gather(pieces, parsed);
    }
    parser.finish(way.cut, pieces);
    gather(pieces, parsed);
    EXPECT_EQ(parsed.ended_calls, parsed.calls.size()) << text;
    EXPECT_EQ(parser.calls(), static_cast<int>(parsed.calls.size()));
    for (const auto& [name, arguments] : parsed.calls) {
        EXPECT_TRUE(ordered_json::parse(arguments, nullptr, false).is_object()) << arguments << " of " << text;
    }
    return parsed;
}

// Whole, character by character, and in pieces of other sizes: always the same.
Parsed parse(std::string_view text, const Way& way = {}) {
    const Parsed whole = parse_in_pieces(text, way, [&](size_t) { return text.size(); });
    EXPECT_EQ(parse_in_pieces(text, way, [&](size_t at) { return character_end(text, at); }), whole) << text;
    std::mt19937 random(3);
    for (int round = 0; round < 3; ++round) {
        const auto some = [&](size_t at) {
            for (size_t left = 1 + random() % 9; left > 0 && at < text.size(); --left) at = character_end(text, at);
            return at;
        };
        EXPECT_EQ(parse_in_pieces(text, way, some), whole) << text;
    }
    return whole;
}

ordered_json arguments(const Parsed& parsed, size_t call = 0) {
    return call < parsed.calls.size() ? ordered_json::parse(parsed.calls[call].second) : ordered_json();
}

std::string write_call(const std::string& content) {
    return "<tool_call>\n<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\n" +
           content + "\n</parameter>\n</function>\n</tool_call>";
}

TEST(OutputParser, TellsThoughtContentAndCallsApart) {
    const Parsed parsed = parse("I look.\n</think>\n\nLet me see.\n\n" + write_call("x") + "\n" + write_call("y"),
                                {{.thought = Thought::open, .tools = &tools()}});
    EXPECT_EQ(parsed.reasoning, "I look.");
    EXPECT_EQ(parsed.content, "Let me see.");
    ASSERT_EQ(parsed.calls.size(), 2u);
    EXPECT_EQ(parsed.calls[0].first, "write_file");
    EXPECT_EQ(parsed.calls[0].second, R"({"path":"a.txt","content":"x"})");
    EXPECT_EQ(parsed.calls[1].second, R"({"path":"a.txt","content":"y"})");
}

TEST(OutputParser, AThoughtTheModelBeginsItself) {
    const Way way{{.thought = Thought::possible, .tools = &tools()}};
    EXPECT_EQ(parse("\n<think>\nhm\n</think>\n\nyes", way).reasoning, "hm");
    EXPECT_EQ(parse("\n<think>\nhm\n</think>\n\nyes", way).content, "yes");
    EXPECT_EQ(parse("  yes", way).content, "  yes");
    EXPECT_EQ(parse("yes <think>", way).content, "yes <think>");
}

TEST(OutputParser, ACutThoughtIsAllReasoning) {
    const Parsed parsed = parse("still thinking", {{.thought = Thought::open, .tools = &tools()}, true});
    EXPECT_EQ(parsed.reasoning, "still thinking");
    EXPECT_EQ(parsed.content, "");
}

// Written out, it is no token: nothing ends.
TEST(OutputParser, MarksAreTokens) {
    OutputParser parser({.thought = Thought::open, .tools = &tools()});
    std::vector<ReplyPiece> pieces;
    parser.feed("the tag </think> and <tool_call>", pieces);
    parser.feed(ReplyMark::end_think, pieces);
    parser.feed("said </think>", pieces);
    parser.finish(false, pieces);
    Parsed parsed;
    gather(pieces, parsed);
    EXPECT_EQ(parsed.reasoning, "the tag </think> and <tool_call>");
    EXPECT_EQ(parsed.content, "said </think>");
}

TEST(OutputParser, CallsInAThought) {
    const std::string shown = "I could write " + write_call("x");
    const Way way{{.thought = Thought::open, .tools = &tools()}};
    const Parsed closed = parse(shown + "\n</think>\n\n" + write_call("y"), way);
    EXPECT_EQ(closed.reasoning, shown);
    ASSERT_EQ(closed.calls.size(), 1u);
    EXPECT_EQ(arguments(closed)["content"], "y");
    // The reply ends in it: the model forgot to end the thought.
    const Parsed open = parse("I write\n" + write_call("x"), way);
    EXPECT_EQ(open.reasoning, "I write");
    ASSERT_EQ(open.calls.size(), 1u);
    EXPECT_EQ(arguments(open)["content"], "x");
    const Parsed mention = parse("the <tool_call> tag, and <tool_call>\n<function=no_tool>", way);
    EXPECT_EQ(mention.reasoning, "the <tool_call> tag, and <tool_call>\n<function=no_tool>");
}

TEST(OutputParser, ValuesThatHaveTagsInThem) {
    for (const std::string content :
         {"<function=demo>\n</function>\n</tool_call>", "a</parameter>b", "</parameter>", "x\n</parameter>\ny",
          "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>", "<", "\n\n", "a\n<",
          "<parameter=other>\nx", "<parameter=path>\nx", "</function>\n</function>", "<function=x>",
          "</tool_call> and on", "</function>\n</tool_call>\nand on", "<think>\n</think>", "<functio",
          "<function=f>\n<function=g>\n</function>"}) {
        const Parsed parsed = parse(write_call(content));
        ASSERT_EQ(parsed.calls.size(), 1u) << content;
        EXPECT_EQ(arguments(parsed)["content"], content);
        EXPECT_EQ(arguments(parsed)["path"], "a.txt");
        EXPECT_EQ(parsed.content, "");
    }
}

TEST(OutputParser, ForgottenTags) {
    const std::string head = "<tool_call>\n<function=get_weather>\n";
    const auto city = [&](const std::string& rest) { return arguments(parse(head + rest)); };
    EXPECT_EQ(city("<parameter=city>\nDallas\n<parameter=state>\nTX\n</parameter>\n</function>\n</tool_call>"),
              ordered_json({{"city", "Dallas"}, {"state", "TX"}}));
    EXPECT_EQ(city("<parameter=where>\n{\"a\":true}\n</function>\n</tool_call>")["where"]["a"], true);
    EXPECT_EQ(city("<parameter=city>\nRome\n</parameter>\n</tool_call>")["city"], "Rome");
    EXPECT_EQ(city("<parameter=city>\nRome\n</parameter>\n</function>")["city"], "Rome");
    EXPECT_EQ(city("<parameter=city>\nRome\n</parameter>")["city"], "Rome");
    EXPECT_EQ(city("<parameter=city>\nRome")["city"], "Rome");
    EXPECT_EQ(city("<parameter=city>Rome</parameter></function></tool_call>")["city"], "Rome");
    EXPECT_EQ(city("<parameter=\"city\">\nRome\n</parameter>\n</function>\n</tool_call>")["city"], "Rome");
    // The next call begins where this one has not ended.
    const Parsed two = parse(head + "<parameter=city>\nRome\n</parameter>\n</function>\n" + head +
                             "<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>");
    ASSERT_EQ(two.calls.size(), 2u);
    EXPECT_EQ(arguments(two, 0)["city"], "Rome");
    EXPECT_EQ(arguments(two, 1)["city"], "Oslo");
}

TEST(OutputParser, ACallWithoutItsMark) {
    const std::string call = "<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>";
    const Parsed known = parse("Sure.\n" + call);
    EXPECT_EQ(known.content, "Sure.");
    ASSERT_EQ(known.calls.size(), 1u);
    const std::string unknown = "Sure.\n<function=exec>\n<parameter=cmd>\nls\n</parameter>\n</function>\n";
    EXPECT_EQ(parse(unknown + "</tool_call>").content, unknown);
    EXPECT_TRUE(parse("In a line: " + call).calls.empty());
    EXPECT_EQ(parse("<functional").content, "<functional");
}

TEST(OutputParser, NamesMayBeQuoted) {
    const std::string body = "<function=\"get_weather\">\n<parameter='city'>\nRome\n</parameter>\n</function>\n";
    for (const std::string& text : {"<tool_call>\n" + body + "</tool_call>", body}) {
        const Parsed parsed = parse(text);
        ASSERT_EQ(parsed.calls.size(), 1u) << text;
        EXPECT_EQ(parsed.calls[0].first, "get_weather");
        EXPECT_EQ(parsed.calls[0].second, R"({"city":"Rome"})");
        EXPECT_EQ(parsed.content, "");
    }
    for (const std::string head :
         {"<function=\"get_ip", "<function=\"get_ip'>", "<function=\"\">", "<function=\"a\"b>"}) {
        EXPECT_EQ(parse(head).content, head);
    }
    for (const size_t size : {254, 255, 256, 257, 258, 259}) {
        parse("<tool_call><function=get_ip><parameter=\"" + std::string(size, 'k') + "\">x</parameter></function>");
        parse("<tool_call><function=exec>\n<parameter=a>1\n<parameter=" + std::string(size, 'k') + ">x</parameter>");
    }
}

TEST(OutputParser, BrokenParameterHeads) {
    for (const std::string broken :
         {"<parameter=\nx</parameter>", "<parameter=ids: [1]\n</parameter>", "<parameter=a b>\n1\n</parameter>"}) {
        const Parsed parsed = parse("<tool_call>\n<function=get_weather>\n" + broken +
                                    "\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>");
        EXPECT_EQ(arguments(parsed), ordered_json({{"city", "Rome"}})) << broken;
    }
    EXPECT_EQ(parse("<tool_call>\n<function=get_weather>\n<parameter=note=").calls[0].second, "{}");
    const Parsed twice = parse(
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=city>\nOslo\n</"
        "parameter>\n"
        "</function>\n</tool_call>");
    EXPECT_EQ(twice.calls[0].second, R"({"city":"Rome"})");
}

TEST(OutputParser, NoParametersAreAnEmptyObject) {
    EXPECT_EQ(parse("<tool_call>\n<function=get_ip>\n</function>\n</tool_call>").calls[0].second, "{}");
}

TEST(OutputParser, TypesAreTheSchemas) {
    const auto value = [](const std::string& key, const std::string& text) {
        return arguments(parse("<tool_call>\n<function=get_weather>\n<parameter=" + key + ">\n" + text +
                               "\n</parameter>\n</function>\n</tool_call>"))[key];
    };
    for (const std::string text : {"123", "true", "null", "{\"a\":1}", "007"}) EXPECT_EQ(value("city", text), text);
    EXPECT_EQ(value("flag", "false"), false);
    EXPECT_EQ(value("flag", "null"), nullptr);
    EXPECT_EQ(value("note", "null"), nullptr);
    EXPECT_EQ(value("note", "nullable thing"), "nullable thing");
    EXPECT_EQ(value("note", "nul"), "nul");
    EXPECT_EQ(value("note", ""), "");
    EXPECT_EQ(value("days", "5"), 5);
    EXPECT_EQ(value("days", "2026-01-15"), "2026-01-15");
    EXPECT_EQ(value("where", "{oops"), "{oops");
    EXPECT_EQ(value("where", "{\"t\":\"\\ud99c\"}"), "{\"t\":\"\\ud99c\"}");
    EXPECT_EQ(value("any", "5"), 5);
    EXPECT_EQ(value("any", "five"), "five");
    EXPECT_EQ(value("unlisted", "5"), "5");
}

TEST(OutputParser, ACutCallHasWhatWasThere) {
    const Way cut{{.tools = &tools()}, true};
    const std::string call = write_call("some\ntext </par");
    for (size_t size = 1; size <= call.rfind("</tool_call>"); ++size) {
        const Parsed parsed = parse(call.substr(0, size), cut);
        if (call.substr(0, size).find("<tool_call>") == 0) {
            EXPECT_EQ(parsed.content, "") << size;
        }
        if (parsed.calls.empty()) continue;
        const ordered_json given = arguments(parsed);
        EXPECT_TRUE(std::string("a.txt").starts_with(given.value("path", ""))) << given;
        EXPECT_TRUE(std::string("some\ntext </par").starts_with(given.value("content", ""))) << given;
    }
    EXPECT_EQ(arguments(parse(call.substr(0, call.find("text")), cut))["content"], "some");
}

TEST(OutputParser, WhatIsNoCallIsContent) {
    EXPECT_EQ(parse("a <tool_call> is a tag").content, "a <tool_call> is a tag");
    EXPECT_EQ(parse("<tool_call>{oops</tool_call> so").content, "<tool_call>{oops</tool_call> so");
    EXPECT_EQ(parse("<tool_call>{oops").content, "<tool_call>{oops");
    EXPECT_EQ(parse("a</tool_call>b</think>c").content, "abc");
    EXPECT_EQ(parse(" text \n").content, " text \n");
    EXPECT_EQ(parse(write_call("x"), {{.tools = nullptr}}).content, write_call("x"));
    EXPECT_TRUE(parse(write_call("x"), {{.tools = nullptr}}).calls.empty());
}

TEST(OutputParser, TextBehindACallIsContent) {
    const Parsed parsed = parse(write_call("x") + "\nI wait.");
    EXPECT_EQ(parsed.content, "I wait.");
    EXPECT_EQ(parsed.calls.size(), 1u);
}

TEST(OutputParser, OneCallWhereOneIsAsked) {
    const Parsed parsed =
        parse(write_call("x") + "\n" + write_call("y"), {{.tools = &tools(), .parallel_calls = false}});
    EXPECT_EQ(parsed.calls.size(), 1u);
    OutputParser parser({.tools = &tools(), .parallel_calls = false});
    std::vector<ReplyPiece> pieces;
    parser.feed(ReplyMark::tool_call, pieces);
    parser.feed("<function=get_ip>\n", pieces);
    EXPECT_FALSE(parser.is_done());
    parser.feed("</function>", pieces);
    EXPECT_TRUE(parser.is_done());
    parser.finish(true, pieces);  // as a reply that is not read on
    EXPECT_TRUE(parser.is_done());
}

TEST(OutputParser, OneCallThatIsCutIsNotDone) {
    for (const bool cut : {true, false}) {
        OutputParser parser({.tools = &tools(), .parallel_calls = false});
        std::vector<ReplyPiece> pieces;
        parser.feed(ReplyMark::tool_call, pieces);
        parser.feed("<function=get_weather>\n<parameter=city>\nRo", pieces);
        parser.finish(cut, pieces);
        EXPECT_EQ(parser.calls(), 1);
        EXPECT_EQ(parser.is_done(), !cut);
    }
}

TEST(OutputParser, HermesCalls) {
    const Parsed parsed = parse(
        "Now.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"</tool_call>\"}}\n</tool_call>\n"
        "<tool_call>{'name': 'get_ip', 'arguments': {}}</tool_call>");
    EXPECT_EQ(parsed.content, "Now.");
    ASSERT_EQ(parsed.calls.size(), 2u);
    EXPECT_EQ(arguments(parsed)["city"], "</tool_call>");
    EXPECT_EQ(parsed.calls[1].second, "{}");
    EXPECT_EQ(parse("<tool_call>{\"name\": \"get_ip\", \"arguments\": {}}").calls.size(), 1u);
    const Parsed cut = parse("<tool_call>{\"name\": \"get_ip\", \"argu", {{.tools = &tools()}, true});
    EXPECT_EQ(cut, Parsed());
}

// Marks behind an object that has not ended, and behind one that has and is no call: none of them ends the call.
// Reading the object again at each would take hours.
TEST(OutputParser, ManyEndsOfAHermesCallThatHasNone) {
    constexpr size_t kMarks = 100'000;
    for (const std::string& begin : {"{\"name\": \"get_ip\", \"arguments\": {\"a\": \"" + std::string(100'000, 'x'),
                                     "{\"a\": \"" + std::string(100'000, 'x') + "\"}"}) {
        OutputParser parser({.tools = &tools()});
        std::vector<ReplyPiece> pieces;
        parser.feed(ReplyMark::tool_call, pieces);
        parser.feed(begin, pieces);
        std::string text = "<tool_call>" + begin;
        for (size_t i = 0; i < kMarks; ++i) {
            parser.feed(ReplyMark::end_tool_call, pieces);
            text += "</tool_call>";
        }
        EXPECT_TRUE(pieces.empty());
        parser.finish(false, pieces);
        Parsed parsed;
        gather(pieces, parsed);
        EXPECT_TRUE(parsed.content == text && parsed.calls.empty());
    }
}

// Outputs put together from parts of calls, with parts gone, doubled and out of place.
TEST(OutputParser, PiecesNeverMatterInMutatedOutputs) {
    const std::vector<std::string> parts = {"<tool_call>",
                                            "</tool_call>",
                                            "<think>",
                                            "</think>",
                                            "\n",
                                            "\n\n",
                                            "<function=write_file>",
                                            "<function=",
                                            "</function>",
                                            "<parameter=path>",
                                            "<parameter=content>",
                                            "<parameter=note>",
                                            "<parameter=days>",
                                            "</parameter>",
                                            "<parameter=",
                                            "<function=exec>",
                                            ">",
                                            "<",
                                            "null",
                                            "12",
                                            "caf\xC3\xA9 \xE4\xBB\x8A",
                                            "{\"name\": \"get_ip\", \"arguments\": {}}",
                                            "{\"name\": \"get_ip\", \"arguments\": {\"a\": \"",
                                            "\"}}",
                                            "{",
                                            " ",
                                            "text",
                                            "\"",
                                            "<function=get_weather>"};
    std::mt19937 random(11);
    size_t calls = 0;
    for (int round = 0; round < 10000; ++round) {
        std::string text = round % 3 == 0 ? write_call("line\n<b>") : "";
        for (size_t count = random() % 14; count > 0; --count) {
            const std::string& part = parts[random() % parts.size()];
            size_t at = text.empty() ? 0 : random() % text.size();
            while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
            if (random() % 4 == 0) at = text.size();
            if (random() % 5 == 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0x80) == 0) {
                text.erase(at, 1);
            }
            text.insert(at, part);
        }
        const Way way{{.thought = static_cast<Thought>(round % 3), .tools = &tools(), .parallel_calls = round % 7 != 0},
                      round % 2 == 0};
        calls += parse(text, way).calls.size();
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(calls, 1500u);
}

}  // namespace
}  // namespace colugo
