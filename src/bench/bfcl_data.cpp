#include "bench/bfcl_data.h"

#include <filesystem>
#include <fstream>
#include <unordered_map>

#include "base/error.h"
#include "text/compact_json.h"

namespace colugo {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail_row(const std::string& path, size_t line, std::string_view what) {
    fail(ErrorCode::invalid_file, "{}, line {}: {}", path, line, what);
}

// read(row, line) for each line that is not blank; row: an object with a text "id".
template <typename Read>
void read_rows(const std::string& path, Read read) {
    std::ifstream file(path);
    if (!file) fail(ErrorCode::not_found, "cannot read {}, a file of BFCL's data", path);
    std::string text;
    for (size_t line = 1; std::getline(file, text); ++line) {
        if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
        Json row = parse_json(text);
        if (!row.is_object() || !row.contains("id") || !row["id"].is_string())
            fail_row(path, line, "is not a JSON object with a text \"id\"");
        read(row, line);
    }
    if (file.bad()) fail_errno("cannot read", path);
}

bool has(const Json& object, const char* key, Json::value_t type) {
    return object.is_object() && object.contains(key) && object[key].type() == type;
}

// Null contents, which OpenAI's API allows and some servers refuse, become empty ones.
Json flat_messages(const Json& row, const std::string& path, size_t line) {
    Json messages = Json::array();
    const auto bad = [&] { fail_row(path, line, "\"question\" is not a list of lists of messages with a role"); };
    if (!has(row, "question", Json::value_t::array)) bad();
    for (const Json& turn : row["question"]) {
        if (!turn.is_array()) bad();
        for (const Json& message : turn) {
            if (!has(message, "role", Json::value_t::string)) bad();
            const bool text = has(message, "content", Json::value_t::string);
            messages.push_back({{"role", message["role"]}, {"content", text ? message["content"] : Json("")}});
        }
    }
    return messages;
}

Json functions_of(const Json& row, const std::string& path, size_t line) {
    const auto bad = [&] {
        fail_row(path, line, "\"function\" is not a list of functions with \"name\" and \"parameters\"");
    };
    if (!has(row, "function", Json::value_t::array)) bad();
    for (const Json& function : row["function"]) {
        if (!has(function, "name", Json::value_t::string) || !has(function, "parameters", Json::value_t::object)) bad();
        const Json& parameters = function["parameters"];
        if (!has(parameters, "properties", Json::value_t::object) || !has(parameters, "required", Json::value_t::array))
            fail_row(path, line, "a function's \"parameters\" lack \"properties\" or \"required\"");
        for (const Json& property : parameters["properties"])
            if (!property.is_object()) fail_row(path, line, "a function's property is not an object");
    }
    return row["function"];
}

bool is_answer(const Json& answer) {
    if (!answer.is_object() || answer.size() != 1 || !answer.begin()->is_object()) return false;
    for (const Json& values : *answer.begin())
        if (!values.is_array()) return false;
    return true;
}

using Answers = std::unordered_map<std::string, Json>;

Answers read_answers(const std::string& path) {
    Answers answers;
    read_rows(path, [&](Json& row, size_t line) {
        const auto bad = [&] {
            fail_row(path, line, "\"ground_truth\" is not a list of {function: {parameter: [value, ...]}}");
        };
        if (!has(row, "ground_truth", Json::value_t::array)) bad();
        for (const Json& answer : row["ground_truth"])
            if (!is_answer(answer)) bad();
        answers[row["id"].get<std::string>()] = std::move(row["ground_truth"]);
    });
    return answers;
}

std::string question_file(const std::string& folder, std::string_view subset) {
    return fmt::format("{}/BFCL_v4_{}.json", folder, subset);
}

// Appends the rows asked of one subset.
void read_subset(const std::string& folder, const BfclSubset& subset, std::vector<BfclSample>& samples) {
    const std::string path = question_file(folder, subset.name);
    Answers answers;
    if (subset.wants_calls()) answers = read_answers(question_file(folder + "/possible_answer", subset.name));
    const size_t first = samples.size();
    read_rows(path, [&](Json& row, size_t line) {
        BfclSample sample{&subset, row["id"], flat_messages(row, path, line), functions_of(row, path, line), {}};
        if (subset.wants_calls()) {
            const auto found = answers.find(sample.id);
            if (found == answers.end()) fail_row(path, line, "has no possible answer");
            sample.answers = found->second;
        }
        samples.push_back(std::move(sample));
    });
    const size_t rows = samples.size() - first;
    if (rows == 0) fail(ErrorCode::invalid_file, "{} has no questions", path);
    if (subset.wants_calls() && rows != answers.size()) {
        fail(ErrorCode::invalid_file, "{} has {} questions, but there are answers to {}; expected one for each", path,
             rows, answers.size());
    }
    samples.resize(first + subset.rows_asked(rows));
}

}  // namespace

std::vector<BfclSample> read_bfcl_samples(const std::string& folder) {
    std::vector<BfclSample> samples;
    for (const BfclSubset& subset : bfcl_subsets()) read_subset(folder, subset, samples);
    return samples;
}

}  // namespace colugo
