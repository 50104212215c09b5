#include "cli/messages_file.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using testing::TempFolder;

ChatInput read(const std::string& text) {
    const TempFolder folder;
    return read_messages_file(folder.write("chat.json", text));
}

TEST(MessagesFile, ReadsAConversation) {
    const ChatInput input = read(R"({"messages": [{"role": "assistant", "tool_calls": [{"function":
        {"name": "f", "arguments": "{\"z\": 1, \"a\": 2}"}}]}],
        "tools": [{"type": "function"}], "chat_template_kwargs": {"enable_thinking": false}})");
    EXPECT_EQ(input.messages[0]["tool_calls"][0]["function"]["arguments"].dump(), R"({"z":1,"a":2})");
    EXPECT_EQ(input.tools.size(), 1u);
    EXPECT_EQ(input.extra["enable_thinking"], false);
    EXPECT_TRUE(input.add_generation_prompt);
}

TEST(MessagesFile, AListIsItsMessages) {
    EXPECT_EQ(read(R"([{"role": "user", "content": "hi"}])").messages.size(), 1u);
}

TEST(MessagesFile, PartsMayBeAbsentEmptyOrNull) {
    for (const char* rest : {"", R"(, "tools": null, "chat_template_kwargs": null)", R"(, "tools": [])"}) {
        const ChatInput input = read(std::string(R"({"messages": [{"role": "user", "content": "hi"}])") + rest + "}");
        EXPECT_TRUE(input.tools.is_null()) << rest;
        EXPECT_TRUE(input.extra.is_object() && input.extra.empty()) << rest;
    }
}

TEST(MessagesFile, RefusesByName) {
    EXPECT_ERROR(ErrorCode::not_found, "/nowhere.json", read_messages_file("/nowhere.json"));
    EXPECT_ERROR(ErrorCode::invalid_file, "is not JSON", read("{"));
    EXPECT_ERROR(ErrorCode::invalid_file, "chat.json: messages[0].role is missing", read(R"({"messages": [{}]})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "\"messages\" twice", read(R"({"messages": [], "messages": []})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "an object", read("5"));
    EXPECT_ERROR(ErrorCode::invalid_file, "at least one message", read("[]"));
    EXPECT_ERROR(ErrorCode::invalid_file, "messages", read("{}"));
    EXPECT_ERROR(ErrorCode::invalid_file, "at least one message", read(R"({"messages": []})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "at least one message", read(R"({"messages": "hi"})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "\"tools\"", read(R"({"messages": [{"role": "user"}], "tools": {}})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "kwargs",
                 read(R"({"messages": [{"role": "user"}], "chat_template_kwargs": []})"));
    EXPECT_ERROR(ErrorCode::invalid_file, "\"temperature\"",
                 read(R"({"messages": [{"role": "user"}], "temperature": 1})"));
}

}  // namespace
}  // namespace colugo
