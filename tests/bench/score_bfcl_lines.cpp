// What the checker of BFCL's answers says, one line of JSON for each line of standard input:
//   {"language", "functions", "answers", "calls": [{"name", "arguments": text}, ...]}  ->  {"right", "reason"}
//   {"functions"}  ->  their tools
//   {"language", "type", "elements", "text"}  ->  the value of the expression
#include <iostream>
#include <string>
#include <vector>

#include "bench/bfcl_checker.h"
#include "bench/bfcl_literals.h"
#include "bench/bfcl_request.h"

namespace {

using Json = nlohmann::ordered_json;
using namespace colugo;

BfclLanguage language_of(const std::string& name) {
    if (name == "java") return BfclLanguage::java;
    return name == "javascript" ? BfclLanguage::javascript : BfclLanguage::python;
}

Json score(const Json& line) {
    std::vector<BfclCall> calls;
    for (const Json& call : line.at("calls")) calls.push_back({call.at("name"), call.at("arguments")});
    const BfclVerdict verdict =
        check_bfcl_calls(language_of(line.at("language")), line.at("functions"), line.at("answers"), calls);
    return {{"right", verdict.right}, {"reason", verdict.reason}};
}

Json value(const Json& line) {
    const std::string text = line.at("text");
    const std::string type = line.at("type");
    const std::string elements = line.at("elements");
    return line.at("language") == "java" ? bfcl::java_value(text, type, elements)
                                         : bfcl::javascript_value(text, type, elements);
}

Json answer(const Json& line) {
    if (line.contains("calls")) return score(line);
    return line.contains("functions") ? bfcl_tools(line.at("functions")) : value(line);
}

}  // namespace

int main() {
    for (std::string text; std::getline(std::cin, text);) std::cout << answer(Json::parse(text)).dump() << '\n';
}
