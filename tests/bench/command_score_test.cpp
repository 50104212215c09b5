// Programs of commands and their overlap, against tools/agentic_reference.py, which reads the rules by itself.
#include "bench/command_score.h"

#include <gtest/gtest.h>

#include <fstream>

namespace colugo {
namespace {

using nlohmann::ordered_json;
using Programs = std::vector<std::string>;

TEST(CommandScore, AgreesWithTheSecondReadingOfTheRules) {
    std::ifstream file(std::string(COLUGO_SOURCE_DIR) + "/tests/golden/bench/commands.jsonl");
    int commands = 0, replies = 0;
    for (std::string line; std::getline(file, line);) {
        const ordered_json row = ordered_json::parse(line);
        if (row.contains("command")) {
            ++commands;
            EXPECT_EQ(command_programs(row["command"].get<std::string>()), row["programs"].get<Programs>()) << line;
            continue;
        }
        ++replies;
        const auto iou = program_iou(call_programs(row["recorded"]), call_programs(row["reply"]));
        EXPECT_EQ(iou ? ordered_json(*iou) : ordered_json(), row["iou"]) << line;
    }
    EXPECT_GE(commands, 300);
    EXPECT_GE(replies, 300);
}

TEST(CommandScore, ReadsCommandsAsStated) {
    EXPECT_EQ(command_programs("cd /x && grep -n 'a | b' y | head -3"), (Programs{"grep", "head"}));
    EXPECT_EQ(command_programs("A=1 sudo /usr/bin/python3.11 -m pytest; ls\ncat a || true"),
              (Programs{"python", "ls", "cat", "true"}));
    EXPECT_EQ(command_programs("egrep x; . ./env.sh; wget u; apt-get update"),
              (Programs{"grep", "source", "curl", "apt"}));
    EXPECT_EQ(command_programs("it's; git log"), (Programs{"git"}));  // nothing closes the mark
    EXPECT_EQ(command_programs("echo \"a \\\" | sed\" & rm x"), (Programs{}));
    EXPECT_EQ(command_programs(""), (Programs{}));
}

TEST(CommandScore, OverlapsAsMultisets) {
    EXPECT_EQ(program_iou({"sed", "grep"}, {"sed", "sed"}), 1.0 / 3.0);
    EXPECT_EQ(program_iou({"sed", "sed"}, {"sed", "sed"}), 1.0);
    EXPECT_EQ(program_iou({"sed"}, {}), 0.0);
    EXPECT_EQ(program_iou({}, {"sed"}), std::nullopt);
}

TEST(CommandScore, TakesOnlyCallsOfBashThatCanBeRead) {
    const auto call = [](const char* name, ordered_json arguments) {
        return ordered_json::array({{{"function", {{"name", name}, {"arguments", std::move(arguments)}}}}});
    };
    EXPECT_EQ(call_programs(call("bash", R"({"command": "ls"})")), (Programs{"ls"}));
    EXPECT_EQ(call_programs(call("bash", R"({"cmd": "ls"})")), (Programs{"ls"}));
    EXPECT_EQ(call_programs(call("bash", {{"command", "ls"}})), (Programs{"ls"}));
    EXPECT_EQ(call_programs(call("python", R"({"command": "ls"})")), (Programs{}));
    EXPECT_EQ(call_programs(call("bash", R"({"command": "ls")")), (Programs{}));
    EXPECT_EQ(call_programs(ordered_json::array({nullptr, "ls", ordered_json::object()})), (Programs{}));
    EXPECT_EQ(call_programs(nullptr), (Programs{}));
}

}  // namespace
}  // namespace colugo
