// Runs side by side: figures worked out by hand, what is paired with what, and folders that are none.
#include "bench/run_comparison.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

ordered_json turn(const std::string& conversation, int index, double ttft, double latency, const std::string& command,
                  double iou) {
    return {{"conversation", conversation},
            {"turn", 2 * index},
            {"index", index},
            {"failure", nullptr},
            {"latency_ms", latency},
            {"ttft_ms", ttft},
            {"tpot_ms", 1.0},
            {"prompt_tokens", 100},
            {"cached_tokens", 90},
            {"output_tokens", 10},
            {"iou", iou},
            {"server", {{"prefill_ms", nullptr}, {"decode_ms", nullptr}, {"passes", 5}, {"accepted", 5}}},
            {"content", ""},
            {"tool_calls", {{{"id", command}, {"function", {{"name", "bash"}, {"arguments", command}}}}}}};
}

RecordedRun run(const std::string& name, double slowness) {
    RecordedRun made{name, {{"valid", true}, {"wall_s", slowness}}, {}};
    for (const char* conversation : {"a", "b", "c", "d", "e"}) {
        for (int index = 1; index <= 12; ++index) {
            made.turns.push_back(turn(conversation, index, 10 * slowness, 30 * slowness, R"({"command": "ls"})", 0.5));
        }
    }
    return made;
}

TEST(RunComparison, FiguresOfEachRunAndOfPairs) {
    const ordered_json comparison = compare_runs({run("slow", 3.0), run("fast", 1.0)}, {});
    const ordered_json& slow = comparison["runs"][0];
    EXPECT_EQ(slow["turns"], 60);
    EXPECT_NEAR(slow["latency_s"].get<double>(), 5.4, 1e-9);
    EXPECT_NEAR(slow["prefill_s"].get<double>(), 1.8, 1e-9);
    EXPECT_NEAR(slow["decode_s"].get<double>(), 3.6, 1e-9);
    EXPECT_EQ(slow["computed_tokens"], 600);
    EXPECT_EQ(slow["tokens_per_pass"], 2.0);
    EXPECT_EQ(slow["iou"]["value"], 0.5);
    const ordered_json& pair = comparison["pairs"][0];
    EXPECT_NEAR(pair["faster"]["value"].get<double>(), 3.0, 1e-9);
    EXPECT_NEAR(pair["faster"]["low"].get<double>(), 3.0, 1e-9);
    EXPECT_NEAR(pair["prefill_faster"]["high"].get<double>(), 3.0, 1e-9);
    EXPECT_EQ(pair["tpot_faster"]["value"], 1.0);
    EXPECT_EQ(pair["same_replies"]["value"], 1.0);
    EXPECT_EQ(slow["bands"][1]["turns"], 10);
    EXPECT_EQ(pair["bands"].size(), 5u);
    EXPECT_EQ(pair["bands"][0]["turns"], 50);
    EXPECT_EQ(pair["bands"][1]["turns"], 10);
    EXPECT_TRUE(pair["bands"][4]["iou"].is_null());
    EXPECT_NE(comparison_table(comparison).find("3.00 (3.00 to 3.00)"), std::string::npos);
}

TEST(RunComparison, IntervalsComeFromConversations) {
    RecordedRun fast = run("fast", 1.0);
    for (ordered_json& line : fast.turns) {
        if (line["conversation"] == "a") line["latency_ms"] = 90.0;
    }
    const ordered_json faster = compare_runs({run("slow", 3.0), fast}, {})["pairs"][0]["faster"];
    EXPECT_NEAR(faster["value"].get<double>(), 5 * 90.0 / (90.0 + 4 * 30.0), 1e-9);
    EXPECT_LT(faster["low"].get<double>(), 1.7);
    EXPECT_NEAR(faster["high"].get<double>(), 3.0, 1e-9);
}

// Whatever is drawn, a run is as fast as itself.
TEST(RunComparison, ARunBesideItselfHasNoInterval) {
    RecordedRun uneven = run("uneven", 1.0);
    uneven.turns.erase(uneven.turns.begin(), uneven.turns.begin() + 10);
    for (size_t i = 0; i < uneven.turns.size(); ++i) uneven.turns[i]["latency_ms"] = 30.0 + static_cast<double>(i * i);
    const ordered_json pair = compare_runs({uneven, uneven}, {})["pairs"][0];
    for (const char* name : {"faster", "ttft_faster", "same_replies"}) {
        EXPECT_EQ(pair[name]["low"], 1.0) << name;
        EXPECT_EQ(pair[name]["high"], 1.0) << name;
    }
}

TEST(RunComparison, DamagedCallsAreNone) {
    RecordedRun damaged = run("damaged", 1.0);
    size_t i = 0;
    for (const char* calls : {"[5]", "[null]", R"([{"function": "x"}])", R"([{"function": null}])",
                              R"([{"function": {"name": 5, "arguments": 7}}])"}) {
        damaged.turns[i]["content"] = nullptr;
        damaged.turns[i++]["tool_calls"] = ordered_json::parse(calls);
    }
    const ordered_json bands = compare_runs({run("first", 1.0), damaged}, {})["pairs"][0]["bands"];
    EXPECT_NEAR(bands[0]["valid_calls"]["value"].get<double>(), 0.9, 1e-9);
}

// 30 of 60 turns have no call; of the others, each with two, one call in 60 is cut off.
TEST(RunComparison, TellsCallsThatAreWrongFromTurnsWithoutAny) {
    RecordedRun mixed = run("mixed", 1.0);
    for (size_t i = 0; i < mixed.turns.size(); ++i) {
        ordered_json& calls = mixed.turns[i]["tool_calls"];
        if (i % 2 == 0) {
            calls = ordered_json::array();
        } else {
            calls.push_back(calls[0]);
        }
    }
    mixed.turns[1]["tool_calls"][0]["function"]["arguments"] = R"({"command": "l)";
    const ordered_json comparison = compare_runs({mixed, mixed}, {});
    for (const ordered_json* run : {&comparison["runs"][0], &comparison["pairs"][0]}) {
        const ordered_json& band = (*run)["bands"][0];
        EXPECT_EQ(band["with_call"]["value"], 0.5);
        EXPECT_EQ(band["valid_calls"]["value"], 49.0 / 50);
        EXPECT_EQ(band["valid_calls"]["turns"], 25);
    }
    for (ordered_json& turn : mixed.turns) turn["tool_calls"] = ordered_json::array();
    const std::string table = comparison_table(compare_runs({mixed, mixed}, {}));
    EXPECT_NE(table.find("0.0 (0.0 to 0.0) |      no calls |"), std::string::npos) << table;
}

TEST(RunComparison, FailedTurnsAndOtherConversationsAreLeftOut) {
    RecordedRun second = run("second", 1.0);
    second.turns[0]["failure"] = {{"kind", "timeout"}, {"message", "x"}};
    second.turns.erase(second.turns.end() - 12, second.turns.end());
    EXPECT_EQ(compare_runs({run("first", 1.0), second}, {})["pairs"][0]["turns"], 47);
    const ConversationFilter filter{{"a", "b", "c"}, {"c"}};
    EXPECT_EQ(compare_runs({run("first", 1.0), second}, filter)["pairs"][0]["turns"], 23);
    EXPECT_ERROR(ErrorCode::invalid_argument,
                 "no turn that first and second have in common is left: conversations count with e or f in their ids "
                 "and without c",
                 compare_runs({run("first", 1.0), second}, {{"e", "f"}, {"c"}}));
    second.turns.clear();
    EXPECT_ERROR(ErrorCode::invalid_argument, "first and second have no turn in common",
                 compare_runs({run("first", 1.0), second}, filter));
}

TEST(RunComparison, RepliesAgreeAsFarAsTheyBeginAlike) {
    RecordedRun second = run("second", 1.0);
    for (ordered_json& line : second.turns) {
        line["tool_calls"][0]["id"] = "another";
        line["tool_calls"][0]["function"]["arguments"] = "{\"command\": \"pwd";  // cut off: no call
    }
    const ordered_json pair = compare_runs({run("first", 1.0), second}, {})["pairs"][0];
    EXPECT_EQ(pair["same_replies"]["value"], 0.0);
    const double agreement = pair["bands"][0]["agreement"]["value"].get<double>();
    EXPECT_GT(agreement, 0.6);
    EXPECT_LT(agreement, 0.9);
    EXPECT_EQ(pair["bands"][0]["valid_calls"]["value"], 0.0);
    EXPECT_EQ(compare_runs({second, run("first", 1.0)}, {})["pairs"][0]["bands"][0]["valid_calls"]["value"], 1.0);
}

TEST(RunComparison, FoldersThatAreNone) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "colugo_run_comparison";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
    const std::string path = folder.string() + "/";
    EXPECT_ERROR(ErrorCode::not_found, "has no results.json", read_run(path));
    write("results.json", "[]");
    EXPECT_ERROR(ErrorCode::invalid_file, "results.json is no JSON object", read_run(path));
    write("results.json", R"({"valid": true, "wall_s": 1.5, "format": 99})");
    EXPECT_ERROR(ErrorCode::invalid_file, "has format 99; expected 1", read_run(path));
    write("results.json", R"({"valid": true, "wall_s": null, "format": 1})");
    EXPECT_ERROR(ErrorCode::invalid_file, "has wall_s null", read_run(path));
    write("results.json", R"({"valid": true, "wall_s": 1.5, "format": 1})");
    EXPECT_ERROR(ErrorCode::not_found, "has no turns.jsonl", read_run(path));
    write("turns.jsonl", turn("a", 1, 1, 2, "{}", 1).dump() + "\n{\"conversation\": 3}\n");
    EXPECT_ERROR(ErrorCode::invalid_file, "turns.jsonl, line 2, has conversation 3", read_run(path));
    write("turns.jsonl", turn("a", 1, 1, 2, "{}", 1).dump() + "\n");
    const RecordedRun read = read_run(path);
    EXPECT_EQ(read.name, "colugo_run_comparison");
    EXPECT_EQ(read.turns.size(), 1u);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace colugo
