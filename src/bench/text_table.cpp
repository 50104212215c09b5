#include "bench/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/terminal_text.h"

namespace colugo {

std::string text_table(std::vector<std::vector<std::string>> lines) {
    if (lines.empty()) return "";
    for (auto& line : lines) {
        for (std::string& cell : line) cell = on_one_line(cell);
    }
    std::vector<size_t> widths(lines.front().size(), 0);
    for (const auto& line : lines) {
        for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    }
    std::string text;
    for (const auto& line : lines) {
        for (size_t i = 0; i < widths.size(); ++i) text += fmt::format("| {:>{}} ", line[i], widths[i]);
        text += "|\n";
        if (&line != &lines.front()) continue;
        for (const size_t width : widths) text += fmt::format("|{}:", std::string(width + 1, '-'));
        text += "|\n";
    }
    return text;
}

}  // namespace colugo
