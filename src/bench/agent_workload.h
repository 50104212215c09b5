// Recorded agent conversations, in the rows of the Edge Agentic performance set, and the requests they come to.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace colugo {

// A reply that the model is asked for.
struct AgentTurn {
    int64_t row = 0;                  // `turn` of the recorded reply
    size_t history = 0;               // messages of the conversation that come before it
    nlohmann::ordered_json recorded;  // the recorded reply's calls: a list
    double delay_seconds = 0.0;       // that the tools took before the request
};

struct AgentConversation {
    std::string id;
    nlohmann::ordered_json tools = nlohmann::ordered_json::array();
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();  // recorded replies among them, OpenAI's form
    std::vector<AgentTurn> turns;

    // The conversation as it was before a turn.
    nlohmann::ordered_json history(const AgentTurn& turn) const;
};

struct AgentWorkload {
    std::string path;
    std::string digest;  // 32 hexadecimal digits (XXH3-128) of the file
    std::vector<AgentConversation> conversations;

    size_t turns() const;
};

// Reads JSON lines of three roles: `user` (content; the first has system and tools), `assistant` (reasoning_content,
// tool_calls) and `tool` (tool_results, delay_seconds). Lists may be the text of one, in JSON or as Python prints it. A
// conversation's rows have ascending turns. Throws not_found, io, or invalid_file with the file, the line and what was
// expected.
AgentWorkload read_agent_workload(const std::string& path);

}  // namespace colugo
