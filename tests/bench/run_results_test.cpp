// From the records of a run to its figures and files.
#include "bench/run_results.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/mlperf_files.h"
#include "bench/report_page.h"
#include "bench/result_folder.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;
using Clock = TurnReply::Clock;

TurnRecord record(size_t turn, int64_t prompt, int64_t cached, int64_t output, std::optional<double> iou) {
    TurnRecord made{.conversation = 0, .turn = turn};
    made.begin_seconds = static_cast<double>(turn);
    made.reply.begin = Clock::time_point() + std::chrono::seconds(turn);
    made.reply.first = made.reply.begin + std::chrono::milliseconds(100);
    made.reply.end = made.reply.begin + std::chrono::milliseconds(400);
    made.reply.has_first = true;
    made.reply.finish_reason = "stop";
    made.reply.content = "<b>";
    made.reply.server = {.prompt_tokens = prompt, .cached_tokens = cached, .output_tokens = output};
    made.reply.server.prefill_ms = 50.0;
    made.reply.server.passes = 4;
    made.reply.server.drafted = 8;
    made.reply.server.accepted = 6;
    made.ideal_cached = cached + 5;
    made.iou = iou;
    if (iou) made.expected = {"ls"};
    return made;
}

AgentRun small_run() {
    AgentRun run;
    AgentConversation conversation;
    conversation.id = "a<b>&\"c\"";
    for (int64_t row : {2, 4, 6}) conversation.turns.push_back({.row = row, .recorded = ordered_json::array()});
    run.workload.conversations.push_back(conversation);
    run.records = {record(0, 100, 0, 31, 1.0), record(1, 200, 100, 61, std::nullopt),
                   record(2, 300, 200, 1, 1.0 / 3.0)};
    run.seconds = 2.4;
    run.setup = {{"server", {{"memory_peak_bytes", 5'000'000'000}}}};
    run.before = {.passes = 10, .by_position = {{0, 5}, {1, 1}}};
    run.after = {.passes = 20, .by_position = {{0, 14}, {1, 6}, {3, 2}}};
    return run;
}

TEST(RunResults, FiguresOfAValidRun) {
    const ordered_json results = results_json(small_run());
    EXPECT_EQ(results["valid"], true);
    EXPECT_EQ(results["turns"], 3);
    EXPECT_EQ(results["turns_missing"], 0);
    EXPECT_EQ(results["iou"], 0.6667);
    EXPECT_EQ(results["iou_turns"], 2);
    EXPECT_TRUE(results["bfcl"].is_null());
    EXPECT_EQ(results["prompt_tokens"], 600);
    EXPECT_EQ(results["cached_tokens"], 300);
    EXPECT_EQ(results["ideal_cached_tokens"], 315);
    EXPECT_EQ(results["computed_prompt_tokens"], 300);
    EXPECT_EQ(results["cached_share"], 0.5);
    EXPECT_EQ(results["output_tokens"], 93);
    EXPECT_DOUBLE_EQ(results["output_tok_s"].get<double>(), 93 / 2.4);
    EXPECT_DOUBLE_EQ(results["ttft_ms"]["p50"].get<double>(), 100.0);
    EXPECT_DOUBLE_EQ(results["tpot_ms"]["mean"].get<double>(), 7.5);  // 300 ms in 30 and 60 steps; one has none
    EXPECT_EQ(results["tpot_ms"]["count"], 2);
    EXPECT_EQ(results["tokens_per_pass"], 2.5);
    EXPECT_EQ(results["drafts"]["acceptance"], 0.75);
    EXPECT_EQ(results["drafts"]["accepted_by_position"], ordered_json::parse("[0.9, 0.5, 0.0, 0.2]"));
    EXPECT_DOUBLE_EQ(results["server_s"]["prefill"].get<double>(), 0.15);
    EXPECT_TRUE(results["server_s"]["decode"].is_null());
    EXPECT_EQ(results["energy_j"], "not readable");
    const std::string table = results_table(results);
    for (const char* words : {"valid", "3 of 3", "0.6667", "600", "300 (50.00 %)", "2.500", "75.00 %", "5.00 GB"}) {
        EXPECT_NE(table.find(words), table.npos) << words << "\n" << table;
    }
}

TEST(RunResults, ATurnWithoutAReplyScoresNothingAndMakesTheRunInvalid) {
    AgentRun run = small_run();
    run.records[2].failure = {"timeout", "it took too long"};
    run.records[2].iou = 0.0;
    run.records[2].reply.server = {};  // what is missing there, is not missed
    const ordered_json results = results_json(run);
    EXPECT_EQ(results["valid"], false);
    EXPECT_EQ(results["turns"], 2);
    EXPECT_EQ(results["turns_failed"], 1);
    EXPECT_EQ(results["turns_missing"], 1);
    EXPECT_EQ(results["iou"], 0.5);
    EXPECT_EQ(results["prompt_tokens"], 300);
    EXPECT_EQ(results["failures"].dump(),
              R"([{"conversation":"a<b>&\"c\"","turn":6,"kind":"timeout","message":"it took too long"}])");
    EXPECT_NE(results_table(results).find("INVALID"), std::string::npos);
    run.records.pop_back();  // was never asked for
    EXPECT_EQ(results_json(run)["turns_missing"], 1);
    EXPECT_FALSE(run.is_valid());
    run = small_run();
    run.interrupted = true;
    EXPECT_FALSE(run.is_valid());
}

TEST(RunResults, WhatOneReplyDoesNotTellIsNotTold) {
    AgentRun run = small_run();
    run.records[1].reply.server.cached_tokens.reset();
    run.records[1].reply.server.passes.reset();
    run.records[1].ideal_cached.reset();
    run.after.reset();
    const ordered_json results = results_json(run);
    EXPECT_EQ(results["prompt_tokens"], 600);
    for (const char* name : {"cached_tokens", "computed_prompt_tokens", "ideal_cached_tokens", "tokens_per_pass"}) {
        EXPECT_TRUE(results[name].is_null()) << name;
    }
    EXPECT_TRUE(results["drafts"]["accepted_by_position"].is_null());
    EXPECT_NE(results_table(results).find("not told"), std::string::npos);
}

TEST(RunResults, EveryTurnIsALine) {
    const AgentRun run = small_run();
    const ordered_json line = turn_json(run, run.records[1]);
    EXPECT_EQ(line["turn"], 4);
    EXPECT_EQ(line["index"], 2);
    EXPECT_TRUE(line["failure"].is_null());
    EXPECT_TRUE(line["iou"].is_null());
    EXPECT_EQ(line["server"]["accepted"], 6);
    EXPECT_EQ(line["content"], "<b>");
}

TEST(ReportPage, StandsByItself) {
    const AgentRun run = small_run();
    const std::string page = report_page(run, results_json(run));
    for (const char* words : {"<svg", "Time to the first token", "Prefill", "Cached share", "Drafts by position",
                              "Timeline", "a&lt;b&gt;&amp;&quot;c&quot;"}) {
        EXPECT_NE(page.find(words), page.npos) << words;
    }
    for (const char* words : {"<script", "http://", "https://", "a<b>", "nan", "inf\""}) {
        EXPECT_EQ(page.find(words), page.npos) << words;
    }
    AgentRun nothing;
    nothing.setup = run.setup;
    EXPECT_NE(report_page(nothing, results_json(nothing)).find("not valid"), std::string::npos);
}

TEST(MlperfFiles, HaveTheHarnessesNames) {
    const auto files = mlperf_files(small_run(), "1.2.3");
    const ordered_json summary = ordered_json::parse(files.at("performance/result_summary.json"));
    EXPECT_EQ(summary["n_samples_issued"], 3);
    EXPECT_EQ(summary["duration_ns"], 2'400'000'000);
    EXPECT_EQ(summary["ttft"]["percentiles"]["99.0"], 1e8);
    EXPECT_EQ(summary["output_sequence_lengths"]["total"], 93.0);
    EXPECT_EQ(summary["state"], "complete");
    const ordered_json scores = ordered_json::parse(files.at("scores.json"));
    EXPECT_EQ(scores["score"], 0.6667);
    EXPECT_EQ(scores["turns"]["missing"], 0);
    EXPECT_EQ(scores["per_turn"].size(), 3u);
    const ordered_json accuracy = ordered_json::parse(files.at("accuracy/accuracy_results.json"));
    EXPECT_EQ(accuracy["accuracy_scores"][0]["score"], 0.6667);
}

TEST(ResultFolder, IsThereAsAWholeOrNotAtAll) {
    namespace fs = std::filesystem;
    testing::TempFolder folder;
    const std::string path = folder.path() + "/a/out";
    { ResultFolder unused(path); }
    EXPECT_TRUE(fs::is_empty(folder.path() + "/a"));
    {
        ResultFolder results(path + "/");
        EXPECT_FALSE(fs::exists(path));
        results.publish({{"results.json", "{}"}, {"accuracy/x.json", "[]"}});
    }
    EXPECT_TRUE(fs::is_regular_file(path + "/accuracy/x.json"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() + "/a"), {}), 1);
    EXPECT_ERROR(ErrorCode::invalid_argument, "is not an empty folder", ResultFolder(path).path());
    EXPECT_ERROR(ErrorCode::invalid_argument, "is not an empty folder", ResultFolder(path + "/results.json").path());
    fs::create_directory(folder.path() + "/empty");
    ResultFolder(folder.path() + "/empty").publish({{"x", "y"}});
    EXPECT_TRUE(fs::exists(folder.path() + "/empty/x"));
    EXPECT_ERROR(ErrorCode::io, "cannot make the folder", ResultFolder("/proc/out").path());
}

}  // namespace
}  // namespace colugo
