#include "bench/bfcl_data.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "bench/bfcl_folder.h"
#include "bench/bfcl_made_up_data.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using testing::MadeUpBfcl;

std::map<std::string_view, size_t> rows_by_subset(const std::vector<BfclSample>& samples) {
    std::map<std::string_view, size_t> rows;
    for (const BfclSample& sample : samples) ++rows[sample.subset->name];
    return rows;
}

TEST(BfclData, AsksTheFirstRowsOfEverySubset) {
    const MadeUpBfcl folder(100);
    const std::vector<BfclSample> samples = read_bfcl_samples(folder.path());
    std::map<std::string_view, size_t> rows = rows_by_subset(samples);
    EXPECT_EQ(rows.size(), bfcl_subsets().size());
    EXPECT_EQ(rows["simple_java"], 62u);
    EXPECT_EQ(rows["live_parallel"], 10u);
    EXPECT_EQ(rows["live_irrelevance"], 10u);
    EXPECT_EQ(samples[0].id, "simple_python_0");
    EXPECT_EQ(samples[61].id, "simple_python_61");
    EXPECT_EQ(samples[62].id, "simple_java_0");
    EXPECT_EQ(samples.back().id, "live_irrelevance_9");
}

TEST(BfclData, AsksAllRowsWhereTheyAreFew) {
    const BfclSubset& live = bfcl_subsets()[8];
    EXPECT_EQ(live.name, "live_parallel");
    EXPECT_EQ(live.rows_asked(1), 1u);
    EXPECT_EQ(live.rows_asked(25), 25u);
    EXPECT_EQ(live.rows_asked(26), 2u);
    EXPECT_EQ(live.rows_asked(1053), 105u);
    EXPECT_EQ(bfcl_subsets()[0].rows_asked(400), 248u);
}

TEST(BfclData, ReadsQuestionFunctionsAndAnswers) {
    const MadeUpBfcl folder(1);
    folder.write("simple_java",
                 R"({"id": "j", "question": [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": )"
                 R"("Hi"}], [{"role": "user", "content": null, "name": "x"}]], "function": []})"
                 "\n\n");
    folder.write_answers("simple_java", R"({"id": "j", "ground_truth": [{"f": {"p": [1, ""]}}], "more": 1})");
    const BfclSample java = read_bfcl_samples(folder.path())[1];
    EXPECT_EQ(java.subset->name, "simple_java");
    EXPECT_EQ(
        java.messages.dump(),
        R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},{"role":"user","content":""}])");
    EXPECT_EQ(java.answers.dump(), R"([{"f":{"p":[1,""]}}])");
}

TEST(BfclData, NamesFileAndLineOfAFault) {
    const MadeUpBfcl folder(2);
    const auto read = [&] { return read_bfcl_samples(folder.path()); };
    const std::string good = MadeUpBfcl::question("parallel", 0) + "\n";
    folder.write("parallel", good + "{\"id\": 1}\n");
    EXPECT_ERROR(ErrorCode::invalid_file, "BFCL_v4_parallel.json, line 2: is not a JSON object with a text \"id\"",
                 read());
    folder.write("parallel", good + R"({"id": "a", "question": "?", "function": []})");
    EXPECT_ERROR(ErrorCode::invalid_file, "line 2: \"question\" is not", read());
    folder.write("parallel", good + R"({"id": "a", "question": [[]], "function": [{"name": "f"}]})");
    EXPECT_ERROR(ErrorCode::invalid_file, "line 2: \"function\" is not", read());
    folder.write(
        "parallel",
        good + R"({"id": "a", "question": [[]], "function": [{"name": "f", "parameters": {"properties": {}}}]})");
    EXPECT_ERROR(ErrorCode::invalid_file, "lack \"properties\" or \"required\"", read());
    folder.write("parallel", good + MadeUpBfcl::question("parallel", 7));
    EXPECT_ERROR(ErrorCode::invalid_file, "line 2: has no possible answer", read());
    folder.write("parallel", good);
    EXPECT_ERROR(ErrorCode::invalid_file, "BFCL_v4_parallel.json has 1 questions, but there are answers to 2", read());
    folder.write("parallel", "\n");
    EXPECT_ERROR(ErrorCode::invalid_file, "BFCL_v4_parallel.json has no questions", read());
    folder.write_answers("parallel", R"({"id": "a", "ground_truth": [{"f": {"p": 1}}]})");
    EXPECT_ERROR(ErrorCode::invalid_file, "possible_answer/BFCL_v4_parallel.json, line 1: \"ground_truth\"", read());
    std::filesystem::remove(folder.path() + "/possible_answer/BFCL_v4_parallel.json");
    EXPECT_ERROR(ErrorCode::not_found, "possible_answer/BFCL_v4_parallel.json", read());
    std::filesystem::remove(folder.path() + "/BFCL_v4_multiple.json");
    EXPECT_ERROR(ErrorCode::not_found, "BFCL_v4_multiple.json", read());
}

// The published numbers, where the data are installed.
TEST(BfclData, HasTheSamplesOfTheBenchmark) {
    std::string folder;
    try {
        folder = find_bfcl_data("");
    } catch (const Error& error) {
        GTEST_SKIP() << error.what();
    }
    const std::vector<BfclSample> samples = read_bfcl_samples(folder);
    EXPECT_EQ(samples.size(), 995u);
    std::map<std::string_view, size_t> rows = rows_by_subset(samples);
    EXPECT_EQ(rows["simple_python"], 248u);
    EXPECT_EQ(rows["live_parallel_multiple"], 24u);
    EXPECT_EQ(rows["irrelevance"] + rows["live_irrelevance"], 112u);
}

}  // namespace
}  // namespace colugo
