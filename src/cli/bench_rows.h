// What `colugo bench decode`, `prefill` and `cache` print: a row for each test, as a table, JSON or CSV.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace colugo {

enum class RowFormat { markdown, json, csv };

// Adds -o/--output to `app`.
void add_row_format(CLI::App& app, RowFormat& format);

// Rows of the same keys in the same order. A table shows them without lists, and numbers shortened; JSON and CSV have
// them whole. Throws io where standard output cannot be written.
void print_rows(const std::vector<nlohmann::ordered_json>& rows, RowFormat format);

struct MeanDeviation {
    double mean;
    double deviation;  // of the sample; 0 of one value
};
MeanDeviation mean_deviation(const std::vector<double>& values);

}  // namespace colugo
