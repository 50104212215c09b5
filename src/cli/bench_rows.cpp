#include "cli/bench_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "bench/text_table.h"
#include "cli/text_output.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

std::string short_text(const ordered_json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return fmt::format("{:.2f}", value.get<double>());
    return value.dump();
}

std::string markdown(const std::vector<ordered_json>& rows) {
    if (rows.empty()) return "";
    std::vector<std::vector<std::string>> lines(1);
    for (const ordered_json& row : rows) {
        lines.emplace_back();
        for (const auto& [name, value] : row.items()) {
            if (value.is_array()) continue;
            if (lines.size() == 2) lines.front().push_back(name);
            lines.back().push_back(short_text(value));
        }
    }
    return text_table(lines);
}

std::string csv_cell(const ordered_json& value) {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

std::string csv(const std::vector<ordered_json>& rows) {
    std::string text;
    const auto add_line = [&](const auto& cell, const ordered_json& row) {
        std::string line;
        for (const auto& item : row.items()) line += (line.empty() ? "" : ",") + cell(item);
        text += line + "\n";
    };
    if (!rows.empty()) add_line([](const auto& item) { return csv_cell(item.key()); }, rows.front());
    for (const ordered_json& row : rows) add_line([](const auto& item) { return csv_cell(item.value()); }, row);
    return text;
}

}  // namespace

void add_row_format(CLI::App& app, RowFormat& format) {
    const auto choose = [&format](const std::string& name) {
        format = name == "json" ? RowFormat::json : name == "csv" ? RowFormat::csv : RowFormat::markdown;
    };
    app.add_option_function<std::string>("-o,--output", choose, "How results are printed: md, json, csv")
        ->check(CLI::IsMember({"md", "json", "csv"}))
        ->default_str("md");
}

void print_rows(const std::vector<ordered_json>& rows, RowFormat format) {
    switch (format) {
        case RowFormat::markdown:
            write_output(markdown(rows));
            break;
        case RowFormat::json:
            write_output(ordered_json(rows).dump(2) + "\n");
            break;
        case RowFormat::csv:
            write_output(csv(rows));
            break;
    }
}

MeanDeviation mean_deviation(const std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0.0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return {mean, values.size() < 2 ? 0.0 : std::sqrt(squares / (count - 1))};
}

}  // namespace colugo
