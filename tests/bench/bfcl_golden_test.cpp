// What bfcl-eval's own checker, converters and tools made of our questions (tools/make_bfcl_goldens.py).
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "bench/bfcl_checker.h"
#include "bench/bfcl_literals.h"
#include "bench/bfcl_request.h"

namespace colugo {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json> golden(const std::string& name) {
    std::ifstream file(COLUGO_SOURCE_DIR "/tests/golden/bench/" + name);
    std::vector<Json> rows;
    for (std::string line; std::getline(file, line);) rows.push_back(Json::parse(line));
    EXPECT_GT(rows.size(), 10u) << name << " is written by tools/make_bfcl_goldens.py";
    return rows;
}

std::map<std::string, Json> questions() {
    std::map<std::string, Json> by_id;
    for (Json& question : golden("bfcl_questions.jsonl")) by_id[question["id"]] = question;
    return by_id;
}

BfclLanguage language_of(const Json& question) {
    if (question["language"] == "java") return BfclLanguage::java;
    return question["language"] == "javascript" ? BfclLanguage::javascript : BfclLanguage::python;
}

TEST(BfclGolden, VerdictsAreThoseOfBfclEval) {
    const std::map<std::string, Json> asked = questions();
    size_t right = 0;
    for (const Json& row : golden("bfcl_verdicts.jsonl")) {
        const Json& question = asked.at(row["question"]);
        std::vector<BfclCall> calls;
        for (const Json& call : row["calls"]) calls.push_back({call[0], call[1]});
        const BfclVerdict verdict =
            check_bfcl_calls(language_of(question), question["functions"], question["answers"], calls);
        EXPECT_EQ(verdict.right, row["right"].get<bool>()) << row << "\n" << verdict.reason;
        EXPECT_EQ(verdict.reason.empty(), verdict.right) << row;
        right += verdict.right ? 1 : 0;
    }
    EXPECT_GT(right, 200u);
}

// Of the same types too: 1.0 is no 1.
TEST(BfclGolden, ValuesAreThoseOfBfclEval) {
    for (const Json& row : golden("bfcl_values.jsonl")) {
        const std::string type = row[1];
        const std::string elements = row[2];
        const std::string text = row[3];
        const Json value =
            row[0] == "java" ? bfcl::java_value(text, type, elements) : bfcl::javascript_value(text, type, elements);
        EXPECT_EQ(nlohmann::json(value).dump(), nlohmann::json(row[4]).dump()) << row;
    }
}

TEST(BfclGolden, ToolsAreThoseOfBfclEval) {
    const std::map<std::string, Json> asked = questions();
    for (const Json& row : golden("bfcl_tools.jsonl"))
        EXPECT_EQ(bfcl_tools(asked.at(row["question"])["functions"]).dump(), row["tools"].dump());
}

}  // namespace
}  // namespace colugo
