#include "bench/bfcl_phase.h"

#include <gtest/gtest.h>

#include <map>

#include "bench/bfcl_made_up_data.h"

namespace colugo {
namespace {

using testing::MadeUpBfcl;

// Expressions are what the subsets of Java and JavaScript want.
std::string arguments_for(const BfclSample& sample, size_t row) {
    if (sample.subset->language == BfclLanguage::python) return fmt::format("{{\"row\": {}}}", row);
    return fmt::format("{{\"row\": \"{}\"}}", row);
}

size_t row_of(const BfclSample& sample) {
    return std::stoul(sample.id.substr(sample.id.rfind('_') + 1));
}

// A reply to each sample of every subset in `right`: the right one to the first so many, a wrong one to the others;
// none to those of other subsets.
BfclPhase phase_with(const MadeUpBfcl& folder, const std::map<std::string_view, size_t>& right) {
    BfclPhase phase(read_bfcl_samples(folder.path()));
    for (size_t i = 0; i < phase.size(); ++i) {
        const BfclSample& sample = phase.sample(i);
        const auto found = right.find(sample.subset->name);
        if (found == right.end()) {
            phase.add_failure(i);
            continue;
        }
        const size_t row = row_of(sample);
        const bool is_right = row < found->second;
        const BfclCall call = {std::string(sample.subset->name) + "_run", arguments_for(sample, row)};
        const bool calls = sample.subset->wants_calls() == is_right;
        phase.add_reply(i, calls ? std::span(&call, 1) : std::span<const BfclCall>());
    }
    return phase;
}

// Of ten rows in each subset.
const std::map<std::string_view, size_t> kRight = {{"simple_python", 9},     {"simple_java", 6},
                                                   {"simple_javascript", 6}, {"multiple", 8},
                                                   {"parallel", 10},         {"parallel_multiple", 5},
                                                   {"live_simple", 10},      {"live_multiple", 4},
                                                   {"live_parallel", 10},    {"live_parallel_multiple", 0},
                                                   {"irrelevance", 10},      {"live_irrelevance", 7}};

TEST(BfclPhase, AddsUpAsThePublishedBenchmarkDoes) {
    const BfclScores scores = phase_with(MadeUpBfcl(10), kRight).scores();
    EXPECT_EQ(scores.total().asked, 120u);
    EXPECT_DOUBLE_EQ(scores.total().mean(), 85.0 / 120);
    EXPECT_DOUBLE_EQ(scores.category(BfclCategory::non_live), (0.7 + 0.8 + 1.0 + 0.5) / 4);
    EXPECT_DOUBLE_EQ(scores.category(BfclCategory::live), 0.6);
    EXPECT_DOUBLE_EQ(scores.category(BfclCategory::hallucination), 0.85);
    EXPECT_DOUBLE_EQ(scores.normalized(), (0.75 + 0.6 + 0.85) / 3);
}

TEST(BfclPhase, WeighsLiveBySamplesAndTheOthersBySubsets) {
    MadeUpBfcl folder(10);
    folder.write("live_simple", MadeUpBfcl::question("live_simple", 0));
    folder.write_answers("live_simple", MadeUpBfcl::answer("live_simple", 0));
    folder.write("irrelevance", MadeUpBfcl::question("irrelevance", 0));
    const BfclScores scores = phase_with(folder, kRight).scores();
    EXPECT_DOUBLE_EQ(scores.category(BfclCategory::live), 15.0 / 31);
    EXPECT_DOUBLE_EQ(scores.category(BfclCategory::hallucination), 0.85);
}

TEST(BfclPhase, AMissingReplyCountsAsWrong) {
    std::map<std::string_view, size_t> right = kRight;
    right.erase("live_simple");
    const BfclPhase phase = phase_with(MadeUpBfcl(10), right);
    EXPECT_EQ(phase.scores().total().answered, 110u);
    EXPECT_DOUBLE_EQ(phase.scores().total().mean(), 75.0 / 120);
    EXPECT_DOUBLE_EQ(phase.scores().category(BfclCategory::live), 0.35);
}

TEST(BfclPhase, AQuestionThatWasNotAskedCountsForNothing) {
    BfclPhase phase(read_bfcl_samples(MadeUpBfcl(10).path()));
    const BfclCall call = {"simple_python_run", R"({"row": 0})"};
    phase.add_reply(0, {&call, 1});
    phase.add_failure(1);
    const nlohmann::ordered_json json = scores_json(phase.scores());
    EXPECT_EQ(json["overall"], 50.0);
    EXPECT_EQ(json["categories"].dump(), R"({"non_live":50.0})");
    EXPECT_EQ(json["subsets"]["simple_python"].dump(),
              R"({"score":50.0,"right":1,"answered":1,"asked":2,"questions":10})");
    EXPECT_EQ(json["subsets"]["multiple"].dump(), R"({"score":null,"right":0,"answered":0,"asked":0,"questions":10})");
    EXPECT_EQ(json["asked"], 2);
    EXPECT_EQ(json["questions"], 120);
    EXPECT_TRUE(json["sample_of"].is_null());
}

TEST(BfclPhase, ASampleHasOfEverySubsetItsShare) {
    const MadeUpBfcl folder(100);
    const std::vector<BfclSample> all = read_bfcl_samples(folder.path());
    const size_t most = (all.size() + 9) / 10;
    const BfclPhase phase(all, most);
    EXPECT_EQ(phase.size(), most);
    const BfclScores scores = phase.scores();
    for (const BfclCount& count : scores.subsets) {
        EXPECT_LE(count.questions, count.there / 10 + 1);
        EXPECT_GE(count.questions, count.there / 10);
    }
    EXPECT_EQ(scores_json(scores)["sample_of"], all.size());
    EXPECT_EQ(scores_json(scores)["missing"], scores_json(BfclPhase(all).scores())["missing"]);
    EXPECT_EQ(BfclPhase(all, all.size() + 1).size(), all.size());
    EXPECT_EQ(BfclPhase(all, 1).sample(0).id, "simple_python_0");
}

TEST(BfclPhase, ACallIsWrongWhereNoFunctionFits) {
    BfclPhase phase(read_bfcl_samples(MadeUpBfcl(1).path()));
    const size_t last = phase.size() - 1;
    EXPECT_TRUE(phase.add_reply(last, {}).right);
    const BfclCall call = {"anything", "not JSON"};
    EXPECT_EQ(phase.add_reply(last, {&call, 1}).reason, "anything is called, but no function fits the question");
}

TEST(BfclPhase, RowsSayWhyAScoreIsNone) {
    BfclPhase phase(read_bfcl_samples(MadeUpBfcl(1).path()));
    EXPECT_EQ(phase.row(0).dump(),
              R"({"id":"simple_python_0","subset":"simple_python","score":null,"reason":"not asked"})");
    phase.add_failure(0);
    EXPECT_EQ(phase.row(0).dump(),
              R"({"id":"simple_python_0","subset":"simple_python","score":0,"reason":"no reply"})");
    phase.add_reply(0, {});
    EXPECT_EQ(phase.row(0)["reason"], "0 calls, not 1");
    const BfclCall call = {"simple_python_run", R"({"row": 0})"};
    phase.add_reply(0, {&call, 1});
    EXPECT_EQ(phase.row(0).dump(), R"({"id":"simple_python_0","subset":"simple_python","score":1})");
}

TEST(BfclPhase, RequestsAreTheSamples) {
    const BfclPhase phase(read_bfcl_samples(MadeUpBfcl(1).path()));
    const nlohmann::ordered_json request = phase.request(0);
    EXPECT_EQ(request["messages"][0]["content"], "Question 0 of simple_python?");
    EXPECT_EQ(request["tools"][0]["function"]["name"], "simple_python_run");
}

// Of every subset as many rows are asked as of all that were published: then nothing is missing.
TEST(BfclPhase, NamesTheQuestionsThatAreMissing) {
    const MadeUpBfcl folder(100);
    for (const BfclSubset& subset : bfcl_subsets()) {
        const size_t rows = subset.name == "irrelevance" ? 229 : subset.rows;
        std::string questions, answers;
        for (size_t i = 0; i < rows; ++i) {
            questions += MadeUpBfcl::question(subset.name, i) + "\n";
            answers += MadeUpBfcl::answer(subset.name, i) + "\n";
        }
        folder.write(subset.name, questions);
        if (subset.wants_calls()) folder.write_answers(subset.name, answers);
    }
    const BfclPhase phase(read_bfcl_samples(folder.path()));
    EXPECT_EQ(scores_json(phase.scores())["missing"].dump(), R"({"irrelevance":2})");
    EXPECT_EQ(phase.size(), 993u);
}

TEST(BfclPhase, ResultsArePercentages) {
    const BfclScores scores = phase_with(MadeUpBfcl(10), kRight).scores();
    nlohmann::ordered_json json = scores_json(scores);
    EXPECT_EQ(json["overall"], 70.83);
    EXPECT_EQ(json["normalized"], 73.33);
    EXPECT_EQ(json["categories"].dump(), R"({"non_live":75.0,"live":60.0,"hallucination":85.0})");
    EXPECT_EQ(json["subsets"]["simple_java"].dump(),
              R"({"score":60.0,"right":6,"answered":10,"asked":10,"questions":10})");
    json["wall_s"] = 12.3456;
    nlohmann::ordered_json entry = accuracy_entry(json);
    EXPECT_EQ(entry["dataset_name"], "bfcl_v4::function_calling");
    EXPECT_DOUBLE_EQ(entry["score"].get<double>(), 85.0 / 120);
    EXPECT_EQ(entry["unit_samples"], 120);
    EXPECT_EQ(entry["duration_s"], 12.346);
    EXPECT_EQ(entry["breakdown"]["overall_accuracy"], 70.83);
    EXPECT_EQ(entry["breakdown"]["normalized_single_turn_score"], 73.33);
    EXPECT_EQ(entry["breakdown"]["subset_scores"]["parallel_multiple"], 50.0);
    EXPECT_EQ(entry["complete"], false);
    EXPECT_EQ(json["missing"]["simple_python"], 238);
    json["missing"] = nlohmann::ordered_json::object();
    entry = accuracy_entry(json);
    EXPECT_EQ(entry["complete"], true);
    json["sample_of"] = 240;
    EXPECT_EQ(accuracy_entry(json)["complete"], false);
}

}  // namespace
}  // namespace colugo
