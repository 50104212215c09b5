// A folder of BFCL's data with made-up questions.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "bench/bfcl_subsets.h"
#include "support/temp_folder.h"

namespace colugo::testing {

// Subset S has rows S_0, S_1, ...: "Question I of S?", one function S.run with the parameter `row`, whose value is I.
class MadeUpBfcl {
 public:
    explicit MadeUpBfcl(size_t rows) {
        std::filesystem::create_directories(path() + "/possible_answer");
        for (const BfclSubset& subset : bfcl_subsets()) {
            std::string questions;
            std::string answers;
            for (size_t i = 0; i < rows; ++i) {
                questions += question(subset.name, i) + "\n";
                answers += answer(subset.name, i) + "\n";
            }
            write(subset.name, questions);
            if (subset.wants_calls()) write_answers(subset.name, answers);
        }
    }

    const std::string& path() const { return folder_.path(); }
    void write(std::string_view subset, std::string_view lines) const {
        folder_.write(fmt::format("BFCL_v4_{}.json", subset), lines);
    }
    void write_answers(std::string_view subset, std::string_view lines) const {
        folder_.write(fmt::format("possible_answer/BFCL_v4_{}.json", subset), lines);
    }

    static std::string question(std::string_view subset, size_t i) {
        return fmt::format(
            R"({{"id": "{0}_{1}", "question": [[{{"role": "user", "content": "Question {1} of {0}?"}}]], )"
            R"("function": [{{"name": "{0}.run", "description": "Runs.", "parameters": {{"type": "dict", )"
            R"("properties": {{"row": {{"type": "{2}", "description": "A row."}}}}, "required": ["row"]}}}}]}})",
            subset, i, "integer");
    }
    static std::string answer(std::string_view subset, size_t i) {
        return fmt::format(R"({{"id": "{0}_{1}", "ground_truth": [{{"{0}.run": {{"row": [{1}]}}}}]}})", subset, i);
    }

 private:
    TempFolder folder_;
};

}  // namespace colugo::testing
