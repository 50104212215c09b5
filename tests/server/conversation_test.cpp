// Conversations as clients send them, normalised, and rendered with templates that take few of their forms.
#include "server/conversation.h"

#include <gtest/gtest.h>

#include "server/request_harness.h"

namespace colugo::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a template is given for `messages` (JSON of a list).
std::string normalised(const std::string& messages) {
    ordered_json list = ordered_json::array();
    for (const Message& message : conversation(messages).messages) list.push_back(message.to_json());
    return list.dump();
}

void expect_normalised(const std::string& messages, const std::string& wanted) {
    SCOPED_TRACE(messages);
    EXPECT_EQ(normalised(messages), parse_json_text(wanted)->dump());
}

void expect_refused_messages(const std::string& messages, const std::string& param, const std::string& words) {
    SCOPED_TRACE(messages);
    expect_refused(param, words, [&] { conversation(messages); });
}

const std::string kUser = R"({"role": "user", "content": "Q"})";
const std::string kCall = R"({"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
    "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": \"x\"}"}}]})";
const std::string kResult = R"({"role": "tool", "tool_call_id": "call_1", "content": "R"})";

// --- Content ---

TEST(Conversation, MissingNullAndEmptyContentAreOne) {
    for (const char* content : {"", ", \"content\": null", ", \"content\": \"\"", ", \"content\": []",
                                ", \"content\": [{\"type\": \"text\", \"text\": \"\"}]"}) {
        for (const char* role : {"user", "system", "tool"}) {
            EXPECT_EQ(normalised("[{\"role\": \"" + std::string(role) + "\"" + content + "}, " + kUser + "]"),
                      normalised("[{\"role\": \"" + std::string(role) + "\"}, " + kUser + "]"));
        }
    }
}

TEST(Conversation, PartsAreJoined) {
    const std::string parts = R"([{"type": "text", "text": "a ", "cache_control": {"type": "ephemeral"}},
        {"type": "input_text", "text": "b"}, "c", {"type": "output_text", "text": "d"}, {"text": "e"}])";
    for (const char* role : {"system", "user", "assistant", "tool"}) {
        const std::string head = "[{\"role\": \"" + std::string(role) + "\", \"content\": ";
        EXPECT_EQ(normalised(head + parts + "}, " + kUser + "]"), normalised(head + "\"a bcde\"}, " + kUser + "]"));
    }
    expect_normalised(R"([{"role": "user", "content": "Q"},
                          {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}])",
                      R"([{"role": "user", "content": "Q"},
                          {"role": "assistant", "content": "No.", "reasoning_content": ""}])");
}

TEST(Conversation, APartOfAnotherTypeIsRefusedWithItsIndex) {
    const auto with_content = [](const std::string& content) {
        return "[" + kUser + ", {\"role\": \"user\", \"content\": " + content + "}]";
    };
    expect_refused_messages(with_content(R"([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}])"),
                            "messages[1].content[1].type",
                            "messages[1].content[1].type is \"image_url\"; expected text");
    expect_refused_messages(with_content("[{\"type\": \"text\"}]"), "messages[1].content[0].text", "is missing");
    expect_refused_messages(with_content("[{\"type\": \"text\", \"text\": 5}]"), "messages[1].content[0].text", "is 5");
    expect_refused_messages(with_content("[5]"), "messages[1].content[0]", "expected an object");
    expect_refused_messages(with_content("[null]"), "messages[1].content[0]", "expected an object");
    expect_refused_messages(with_content("5"), "messages[1].content", "text, a list of parts, or null");
    expect_refused_messages(with_content("{}"), "messages[1].content", "text, a list of parts, or null");
}

// --- Roles and fields ---

TEST(Conversation, AnInventedRoleIsRefused) {
    expect_refused_messages(R"([{"role": "wizard", "content": "x"}])", "messages[0].role",
                            "messages[0].role is \"wizard\"; expected system, developer, user");
    expect_refused_messages("[" + kUser + R"(, {"content": "x"}])", "messages[1].role", "is missing");
    expect_refused_messages(R"([{"role": 5}])", "messages[0].role", "a string");
    expect_refused_messages(R"(["x"])", "messages[0]", "expected an object");
}

TEST(Conversation, AConversationHasMessages) {
    expect_refused_messages("[]", "messages", "at least one message");
    expect_refused_messages("null", "messages", "is missing");
    expect_refused_messages("{}", "messages", "a list");
}

TEST(Conversation, ResultsNeedNoKnownId) {
    for (const char* id :
         {"", ", \"tool_call_id\": null", ", \"tool_call_id\": \"\"", ", \"tool_call_id\": \"other\""}) {
        for (const char* role : {"tool", "function"}) {
            const std::string result = "{\"role\": \"" + std::string(role) + "\", \"content\": \"R\"" + id + "}";
            const auto messages = conversation("[" + kUser + ", " + kCall + ", " + result + "]").messages;
            EXPECT_EQ(messages[2].role, Message::Role::tool);
            EXPECT_EQ(messages[2].content, "R");
        }
    }
    expect_refused_messages(R"([{"role": "tool", "tool_call_id": 5}])", "messages[0].tool_call_id", "a string");
    expect_refused_messages(R"([{"role": "user", "name": 5}])", "messages[0].name", "a string");
}

// Templates show no ids, so a result is the answer to the call in its place.
TEST(Conversation, ResultsAreInTheOrderOfTheirCalls) {
    const auto contents = [](const std::string& results) {
        std::string all;
        const std::string calls = R"({"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f"}},
            {"id": "y", "function": {"name": "f"}}, {"id": "z", "function": {"name": "f"}}]})";
        for (const Message& message : conversation("[" + kUser + ", " + calls + results + "]").messages) {
            if (message.role == Message::Role::tool) all += message.content;
        }
        return all;
    };
    const auto result = [](const std::string& id) {
        return ", {\"role\": \"tool\", \"tool_call_id\": \"" + id + "\", \"content\": \"" + id + "\"}";
    };
    EXPECT_EQ(contents(result("x") + result("y") + result("z")), "xyz");
    EXPECT_EQ(contents(result("z") + result("x") + result("y")), "xyz");
    EXPECT_EQ(contents(result("q") + result("y") + result("p") + result("x")), "xyqp");
    EXPECT_EQ(contents(result("y") + "," + kUser + result("x")), "yx");
}

// --- System messages ---

TEST(Conversation, SystemMessagesAtTheBeginningBecomeOne) {
    expect_normalised(R"([{"role": "developer", "content": "Reply only BANANA"}, {"role": "user", "content": "Q"}])",
                      R"([{"role": "system", "content": "Reply only BANANA"}, {"role": "user", "content": "Q"}])");
    expect_normalised(R"([{"role": "system", "content": "A"}, {"role": "developer", "content": "B"},
                          {"role": "system", "content": " "}, {"role": "system", "content": "C"},
                          {"role": "user", "content": "Q"}])",
                      R"([{"role": "system", "content": "A\n\nB\n\nC"}, {"role": "user", "content": "Q"}])");
}

TEST(Conversation, LaterSystemMessagesStayInPlace) {
    const std::string system = R"({"role": "system", "content": "S"})",
                      note = R"({"role": "developer", "content": "N"})";
    expect_normalised(
        "[" + system + ", " + kUser + R"(, {"role": "assistant", "content": "A"}, )" + note + ", " + kUser + "]",
        R"([{"role": "system", "content": "S"}, {"role": "user", "content": "Q"},
                          {"role": "assistant", "content": "A", "reasoning_content": ""},
                          {"role": "user", "content": "<system-reminder>\nN\n</system-reminder>"},
                          {"role": "user", "content": "Q"}])");
    const std::string reminder = R"(\n\n<system-reminder>\nN\n</system-reminder>)";
    expect_normalised("[" + kUser + ", " + note + ", " + note + "]",
                      R"([{"role": "user", "content": "Q)" + reminder + reminder + "\"}]");
    const auto messages = conversation("[" + kUser + ", " + kCall + ", " + kResult + ", " + note + "]").messages;
    ASSERT_EQ(messages.size(), 3u);
    EXPECT_EQ(messages[2].content, "R\n\n<system-reminder>\nN\n</system-reminder>");
    expect_normalised("[" + kUser + R"(, {"role": "system", "content": " \n"}])", "[" + kUser + "]");
}

TEST(Conversation, AHeaderThatChangesWithEachRequestIsLeftOut) {
    const std::string header = "x-anthropic-billing-header: cc_version=2; cch=aaaaa;";
    const auto system = [](const std::string& content) {
        return conversation("[{\"role\": \"system\", \"content\": " + content + "}, " + kUser + "]")
            .messages[0]
            .content;
    };
    EXPECT_EQ(system("\"" + header + "\\nYou are an agent.\""), "You are an agent.");
    EXPECT_EQ(system("\"X-Anthropic-Billing-Header:\\n" + header + "\\nYou\""), "You");
    EXPECT_EQ(system("\"" + header + "\""), "");
    EXPECT_EQ(system("[{\"type\": \"text\", \"text\": \"" + header + "\"}, {\"type\": \"text\", \"text\": \"You\"}]"),
              "You");
    // Elsewhere it is text.
    EXPECT_EQ(system("\"You\\n" + header + "\""), "You\n" + header);
    EXPECT_EQ(system("\" " + header + "\""), " " + header);
    EXPECT_EQ(system("\"x-anthropic-billing-headers: a\""), "x-anthropic-billing-headers: a");
    EXPECT_EQ(conversation("[{\"role\": \"user\", \"content\": \"" + header + "\"}]").messages[0].content, header);
    RequestDefaults keeps = test_defaults();
    keeps.dropped_headers.clear();
    EXPECT_EQ(
        chat("{\"messages\": [{\"role\": \"system\", \"content\": \"" + header + "\"}]}", keeps).messages[0].content,
        header);
}

// --- Thoughts and calls ---

TEST(Conversation, ThoughtsAreReadWhereverTheyStand) {
    const auto assistant = [](const std::string& fields) {
        return conversation("[" + kUser + ", {\"role\": \"assistant\", " + fields + "}, " + kUser + "]").messages[1];
    };
    for (const char* fields : {R"("reasoning_content": "T", "content": "A")", R"("reasoning": "T", "content": "A")",
                               R"("reasoning_content": "T", "reasoning": "T", "content": "A")",
                               R"("reasoning_content": null, "reasoning": "T", "content": "A")",
                               R"("reasoning_content": "", "content": "<think>T</think>A")",
                               R"("content": "<think>T</think>\n\nA")", R"("content": "\n<think>T</think>A")"}) {
        SCOPED_TRACE(fields);
        EXPECT_EQ(assistant(fields).reasoning, "T");
        EXPECT_EQ(assistant(fields).content, "A");
        EXPECT_FALSE(assistant(fields).open_thought);
    }
    EXPECT_EQ(assistant(R"("content": "<think>\nT\n</think>\n\nA")").reasoning, "\nT\n");
    EXPECT_EQ(assistant(R"("content": "<think>T")").reasoning, "T");
    EXPECT_EQ(assistant(R"("content": "<think>T")").content, "");
    // As text, tags are text.
    EXPECT_EQ(assistant(R"("content": "write </think> so")").content, "write </think> so");
    EXPECT_EQ(assistant(R"("content": "the tag <think>x</think>")").content, "the tag <think>x</think>");
    EXPECT_EQ(assistant(R"("reasoning": "T", "content": "<think>U</think>A")").content, "<think>U</think>A");
    for (const char* field : {"reasoning_content", "reasoning", "refusal"}) {
        expect_refused_messages("[{\"role\": \"assistant\", \"" + std::string(field) + "\": 5}]",
                                "messages[0]." + std::string(field), "a string");
    }
}

TEST(Conversation, ArgumentsAreNeverAFailure) {
    const auto arguments = [](const std::string& text) {
        const auto messages = conversation("[" + kUser + R"(, {"role": "assistant", "tool_calls": [{"id": "1",
            "function": {"name": "f", "arguments": )" +
                                           text + "}}]}, " + kUser + "]")
                                  .messages;
        return messages[1].calls[0]["function"]["arguments"].dump();
    };
    const auto quoted = [](const std::string& text) { return ordered_json(text).dump(); };
    EXPECT_EQ(arguments(R"({"b": 1, "a": [true, null]})"), R"({"b":1,"a":[true,null]})");
    EXPECT_EQ(arguments(quoted(R"({"b": 1, "a": "x"})")), R"({"b":1,"a":"x"})");
    EXPECT_EQ(arguments(quoted(R"({"t": "\ud99c"})")), "{\"t\":\"\uFFFD\"}");
    for (const char* none : {"null", "\"\"", "\" \\n\"", "{}", "\"{}\""}) EXPECT_EQ(arguments(none), "{}") << none;
    std::string deep;
    for (int i = 0; i < 10'000; ++i) deep += "{\"a\":";
    for (const std::string& broken : {std::string("{\"a\": tr"), std::string("[1]"), std::string("null"),
                                      std::string("5"), std::string("hello"), deep}) {
        EXPECT_EQ(arguments(quoted(broken)), ordered_json({{"raw", broken}}).dump());
    }
    expect_refused_messages(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 5}}]}])",
                            "messages[0].tool_calls[0].function.arguments", "a string");
}

TEST(Conversation, CallsOfOtherShapesAreReadOrRefused) {
    EXPECT_EQ(conversation("[" + kUser + R"(, {"role": "assistant", "tool_calls": [{"name": "f", "arguments": {}}]}])")
                  .messages[1]
                  .calls.dump(),
              R"([{"type":"function","function":{"name":"f","arguments":{}}}])");
    EXPECT_TRUE(conversation("[" + kUser + R"(, {"role": "assistant", "content": "A", "tool_calls": []}])")
                    .messages[1]
                    .calls.empty());
    const std::tuple<const char*, const char*, const char*> refused[] = {
        {R"("tool_calls": {})", "messages[0].tool_calls", "a list"},
        {R"("tool_calls": [5])", "messages[0].tool_calls[0]", "expected an object"},
        {R"("tool_calls": [{}])", "messages[0].tool_calls[0].name", "is missing"},
        {R"("tool_calls": [{"function": {}}])", "messages[0].tool_calls[0].function.name", "is missing"},
        {R"("tool_calls": [{"function": {"name": ""}}])", "messages[0].tool_calls[0].function.name",
         "a function's name"},
        {R"("tool_calls": [{"type": "custom", "custom": {}}])", "messages[0].tool_calls[0].type", "\"function\""},
        {R"("tool_calls": [{"id": 5, "function": {"name": "f"}}])", "messages[0].tool_calls[0].id", "a string"},
        {R"("function_call": {"name": "f"})", "messages[0].function_call", "tool_calls"},
        {R"("audio": {"id": "x"})", "messages[0].audio", "text"},
    };
    for (const auto& [fields, param, words] : refused) {
        expect_refused_messages("[{\"role\": \"assistant\", " + std::string(fields) + "}]", param, words);
    }
}

// --- What templates look for ---

TEST(Conversation, SomethingIsTheUsers) {
    const std::string system = R"({"role": "system", "content": "S"})",
                      text = R"({"role": "assistant", "content": "A"})";
    const auto roles = [](const std::string& messages) {
        std::string letters;
        for (const Message& message : conversation("[" + messages + "]").messages) {
            letters += "suat"[static_cast<int>(message.role)];
        }
        return letters;
    };
    EXPECT_EQ(roles(system + "," + kCall + "," + kResult), "suat");
    EXPECT_EQ(roles(kCall + "," + kResult), "uat");
    EXPECT_EQ(roles(kResult), "ut");
    EXPECT_EQ(roles(system), "su");
    EXPECT_EQ(roles(text), "ua");
    EXPECT_EQ(roles(R"({"role": "assistant", "content": ""})"), "u");
    EXPECT_EQ(roles(R"({"role": "user", "content": "<tool_response>\nx\n</tool_response> "})"), "uu");
    // What comes later changes nothing before it.
    EXPECT_EQ(roles(system + "," + kCall + "," + kResult + "," + text + "," + kUser), "suatau");
    // A greeting is none of these.
    EXPECT_EQ(roles(system + "," + text + "," + kUser), "sau");
    EXPECT_EQ(roles(kUser + "," + kUser + "," + text + "," + text), "uuaa");
}

TEST(Conversation, AMessageAtTheEndThatSaysNothingIsNone) {
    EXPECT_EQ(conversation("[" + kUser + R"(, {"role": "assistant", "content": ""}])").messages.size(), 1u);
    EXPECT_EQ(conversation("[" + kUser + R"(, {"role": "assistant", "content": "<think>"}])").messages.size(), 2u);
    EXPECT_EQ(conversation("[" + kUser + R"(, {"role": "assistant", "content": null}, )" + kUser + "]").messages.size(),
              3u);
}

}  // namespace
}  // namespace colugo::testing
