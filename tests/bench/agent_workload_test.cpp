// Recorded conversations: what requests they come to, and what is said of files that are none.
#include "bench/agent_workload.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

constexpr const char* kUser =
    R"({"conversation_id": "a", "turn": 1, "role": "user", "system": "S", "tools": [{"x": 1}], "content": "U"})";
constexpr const char* kCall = R"({"conversation_id": "a", "turn": 2, "role": "assistant", "reasoning_content": "T", )"
                              R"("tool_calls": [{"id": "1", "function": {"name": "bash", "arguments": "{}"}}]})";

class Workload : public ::testing::Test {
 protected:
    AgentWorkload read(const std::string& text) { return read_agent_workload(folder_.write("w.jsonl", text)); }
    testing::TempFolder folder_;
};

TEST_F(Workload, ARequestIsTheRecordedHistoryBeforeItsReply) {
    const std::string result =
        R"({"conversation_id": "a", "turn": 3, "role": "tool", "delay_seconds": 0.5, "tool_results": )"
        R"([{"tool_call_id": "1", "content": "R"}, {"content": "Q"}]})";
    const std::string answer = R"({"conversation_id": "a", "turn": 4, "role": "assistant", "content": "done"})";
    const std::string other = R"({"conversation_id": "b", "turn": 1, "role": "user", "content": "V"})";
    const std::string reply = R"({"conversation_id": "b", "turn": 2, "role": "assistant", "tool_calls": []})";
    const AgentWorkload workload =
        read(std::string(kUser) + "\n\n" + kCall + "\r\n" + result + "\n" + answer + "\n" + other + "\n" + reply);
    ASSERT_EQ(workload.conversations.size(), 2u);
    EXPECT_EQ(workload.turns(), 3u);
    EXPECT_EQ(workload.digest.size(), 32u);
    const AgentConversation& first = workload.conversations[0];
    EXPECT_EQ(first.tools, ordered_json::parse(R"([{"x": 1}])"));
    ASSERT_EQ(first.turns.size(), 2u);
    EXPECT_EQ(first.turns[0].row, 2);
    EXPECT_EQ(first.history(first.turns[0]),
              ordered_json::parse(R"([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}])"));
    EXPECT_EQ(first.turns[0].recorded[0]["id"], "1");
    EXPECT_EQ(first.turns[0].delay_seconds, 0.0);
    EXPECT_EQ(first.turns[1].delay_seconds, 0.5);
    const ordered_json history = first.history(first.turns[1]);
    ASSERT_EQ(history.size(), 5u);
    EXPECT_EQ(history[2].dump(), R"({"role":"assistant","content":null,"reasoning_content":"T","tool_calls":)"
                                 R"([{"id":"1","function":{"name":"bash","arguments":"{}"}}]})");
    EXPECT_EQ(history[3].dump(), R"({"role":"tool","tool_call_id":"1","content":"R"})");
    EXPECT_EQ(history[4].dump(), R"({"role":"tool","content":"Q"})");
    EXPECT_TRUE(first.turns[1].recorded.empty());
    EXPECT_EQ(workload.conversations[1].turns[0].history, 1u);  // no system
}

TEST_F(Workload, ResultsMayBeTheTextOfAPythonList) {
    const std::string result = R"({"conversation_id": "a", "turn": 3, "role": "tool", "tool_results": )"
                               R"("[{'tool_call_id': '1', 'content': 'it\\'s\\n\"x\"'}]"})";
    const std::string answer = R"({"conversation_id": "a", "turn": 4, "role": "assistant", "content": "done"})";
    const AgentWorkload workload = read(std::string(kUser) + "\n" + kCall + "\n" + result + "\n" + answer);
    EXPECT_EQ(workload.conversations[0].messages[3]["content"], "it's\n\"x\"");
}

TEST_F(Workload, FaultsAreNamedWithTheirLine) {
    const auto second = [&](const std::string& row) { return std::string(kUser) + "\n" + row + "\n"; };
    const std::string head = R"({"conversation_id": "a", "turn": 2, )";
    const std::vector<std::pair<std::string, std::string>> faults = {
        {"", "has no conversation"},
        {kUser, "conversation a has no recorded reply"},
        {second("{"), "line 2: expected a JSON object"},
        {second("[1]"), "line 2: expected a JSON object"},
        {second(R"({"turn": 2})"), "line 2: conversation_id is absent; expected text"},
        {second(R"({"conversation_id": "a", "turn": 1, "role": "assistant"})"), "line 2: turn is 1; expected a whole"},
        {second(R"({"conversation_id": "a", "turn": "x", "role": "assistant"})"), "line 2: turn is \"x\""},
        {second(head + R"("role": "robot"})"), "line 2: role is robot; expected user, assistant or tool"},
        {second(head + R"("role": "tool", "tool_results": []})"), "line 2: a tool row comes behind an assistant row"},
        {second(head + R"("role": "assistant", "tool_calls": 3})"), "line 2: tool_calls is no list"},
        {second(head + R"("role": "assistant", "tool_calls": "[{"})"), "line 2: tool_calls is no list"},
        {second(head + R"("role": "assistant", "tool_calls": [3]})"), "line 2: tool_calls has 3; expected objects"},
        {second(head + R"("role": "user", "content": 3})"), "line 2: content is 3; expected text"},
        {second(R"({"conversation_id": "b", "turn": 1, "role": "assistant"})"), "line 2: a conversation begins with"},
        {second(head + R"("role": "assistant"})") + R"({"conversation_id": "a", "turn": 3, "role": "assistant"})",
         "line 3: two assistant rows in turn"},
        {second(kCall) + R"({"conversation_id": "a", "turn": 3, "role": "tool", "tool_results": []})",
         "line 3: tool_results is empty"},
        {second(kCall) + R"({"conversation_id": "a", "turn": 3, "role": "tool", "tool_results": [{"content": 1}]})",
         "line 3: content is 1; expected text"},
        {second(kCall) +
             R"({"conversation_id": "a", "turn": 3, "role": "tool", "delay_seconds": -1, "tool_results": )" +
             R"([{"content": "x"}]})",
         "line 3: delay_seconds of turn 3 is -1; expected a number from 0 to 1000000"},
        {second(kCall) +
             R"({"conversation_id": "a", "turn": 3, "role": "tool", "delay_seconds": 1e308, "tool_results": )" +
             R"([{"content": "x"}]})",
         "line 3: delay_seconds of turn 3 is 1e+308; expected a number from 0 to 1000000"},
    };
    for (const auto& [text, words] : faults) EXPECT_ERROR(ErrorCode::invalid_file, words, read(text)) << text;
    EXPECT_ERROR(ErrorCode::invalid_file, "w.jsonl", read("{"));
    EXPECT_ERROR(ErrorCode::not_found, "/nonexistent/w.jsonl", read_agent_workload("/nonexistent/w.jsonl"));
}

TEST(SampleWorkload, IsWhatComesWithTheProgram) {
    const AgentWorkload workload = read_agent_workload(std::string(COLUGO_SOURCE_DIR) + "/workloads/sample.jsonl");
    EXPECT_EQ(workload.conversations.size(), 12u);
    for (const AgentConversation& conversation : workload.conversations) {
        EXPECT_EQ(conversation.messages[0], workload.conversations[0].messages[0]);  // the system message is one
        EXPECT_GE(conversation.turns.size(), 9u);
    }
}

TEST(SharedWorkload, HasItsTurns) {
    const char* shared = std::getenv("COLUGO_SHARED");
    const std::string folder = shared != nullptr ? shared : std::string(COLUGO_SOURCE_DIR) + "/../shared";
    const std::string path = folder + "/workload/agentic_coding_16.jsonl";
    if (access(path.c_str(), R_OK) != 0) GTEST_SKIP() << "there is no " << path;
    const AgentWorkload workload = read_agent_workload(path);
    EXPECT_EQ(workload.conversations.size(), 16u);
    EXPECT_EQ(workload.turns(), 818u);
}

}  // namespace
}  // namespace colugo
