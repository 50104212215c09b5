// How well the commands of a reply agree with recorded ones: by the programs they run (docs/benchmark.md, "IoU").
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

// The programs that count of a shell command, in order, by their common name ("egrep" is grep).
std::vector<std::string> command_programs(std::string_view command);

// Those of all `bash` calls in a list of OpenAI's form, in order. What cannot be read has none.
std::vector<std::string> call_programs(const nlohmann::ordered_json& calls);

// |expected and got| / |expected or got| as multisets; nothing where nothing is expected.
std::optional<double> program_iou(const std::vector<std::string>& expected, const std::vector<std::string>& got);

}  // namespace colugo
