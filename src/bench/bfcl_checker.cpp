#include "bench/bfcl_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "bench/bfcl_request.h"
#include "bench/bfcl_value_check.h"
#include "text/compact_json.h"

namespace colugo {
namespace {

using Json = nlohmann::ordered_json;

// A call whose arguments have been read.
struct ReadCall {
    const std::string* name;
    Json arguments;
};

// The reason why `call` is not the one that `answer` describes; empty where it is.
std::string call_fault(BfclLanguage language, const Json& function, const Json& answer, const ReadCall& call) {
    const std::string expected = bfcl_tool_name(function["name"]);
    if (*call.name != expected) return fmt::format("{} is called, not {}", *call.name, expected);
    const Json& parameters = function["parameters"];
    for (const Json& required : parameters["required"]) {
        if (required.is_string() && !call.arguments.contains(required.get_ref<const std::string&>()))
            return fmt::format("{} lacks its required parameter {}", expected, required.get_ref<const std::string&>());
    }
    for (const auto& [name, value] : call.arguments.items()) {
        const auto schema = parameters["properties"].find(name);
        const auto answers = answer.find(name);
        if (schema == parameters["properties"].end() || answers == answer.end())
            return fmt::format("{} has the parameter {}, which it should not have", expected, name);
        std::string fault = bfcl::value_fault(language, name, *schema, value, *answers);
        if (!fault.empty()) return fault;
    }
    for (const auto& [name, answers] : answer.items()) {
        if (!call.arguments.contains(name) && !bfcl::is_optional(answers))
            return fmt::format("{} lacks the parameter {}, which may not be left out here", expected, name);
    }
    return {};
}

const Json* find_function(const Json& functions, const std::string& name) {
    const auto found = std::ranges::find_if(functions, [&](const Json& function) { return function["name"] == name; });
    return found == functions.end() ? nullptr : &*found;
}

std::vector<ReadCall> read_arguments(std::span<const BfclCall> calls, std::string& fault) {
    std::vector<ReadCall> read;
    for (const BfclCall& call : calls) {
        const bool blank = call.arguments.find_first_not_of(" \t\r\n") == std::string::npos;
        Json arguments = blank ? Json::object() : parse_json(call.arguments);
        if (!arguments.is_object()) fault = fmt::format("the arguments of {} are not a JSON object", call.name);
        read.push_back({&call.name, std::move(arguments)});
    }
    return read;
}

// The reason why no call of `open` is what `answer` describes; takes the first that is from `open`.
std::string take_match(BfclLanguage language, const Json& functions, const Json& answer, std::vector<ReadCall>& open) {
    const std::string& name = answer.begin().key();
    const Json* function = find_function(functions, name);
    if (function == nullptr) return fmt::format("the answer's function {} is none of the question's", name);
    std::string first_fault;
    for (auto call = open.begin(); call != open.end(); ++call) {
        std::string fault = call_fault(language, *function, *answer.begin(), *call);
        if (fault.empty()) {
            open.erase(call);
            return {};
        }
        if (first_fault.empty()) first_fault = std::move(fault);
    }
    return first_fault;
}

// A text of `object`; of other values their JSON, as some servers send arguments; empty where it is absent.
std::string text_at(const Json& object, const char* key) {
    if (!object.is_object() || !object.contains(key)) return {};
    const Json& value = object[key];
    return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::vector<BfclCall> bfcl_calls(const Json& tool_calls) {
    std::vector<BfclCall> calls;
    for (const Json& call : tool_calls) {
        const Json function = call.is_object() ? call.value("function", Json()) : Json();
        calls.push_back({text_at(function, "name"), text_at(function, "arguments")});
    }
    return calls;
}

BfclVerdict check_bfcl_calls(BfclLanguage language, const Json& functions, const Json& answers,
                             std::span<const BfclCall> calls) {
    if (calls.size() != answers.size()) return {false, fmt::format("{} calls, not {}", calls.size(), answers.size())};
    std::string fault;
    std::vector<ReadCall> open = read_arguments(calls, fault);
    for (auto answer = answers.begin(); fault.empty() && answer != answers.end(); ++answer)
        fault = take_match(language, functions, *answer, open);
    return {fault.empty(), std::move(fault)};
}

}  // namespace colugo
