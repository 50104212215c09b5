// Plots as SVG, to stand inside an HTML page: no scripts, colours by the page's style sheet (classes c0 to c7).
#pragma once

#include <string>
#include <vector>

namespace colugo {

// Text inside HTML or SVG, and in attributes.
std::string escaped_html(std::string_view text);

struct ChartPoint {
    double x = 0.0, y = 0.0;
    std::string note;  // shown when the pointer rests on it
};

struct ChartSeries {
    std::string name;  // empty: not in the legend
    int color = 0;
    bool is_line = false;  // else points
    std::vector<ChartPoint> points;
};

struct ChartAxes {
    std::string x, y;      // what they count, with the unit
    double y_max = 0.0;    // 0: the highest value
    bool percent = false;  // y is a share
};

// Axes begin at 0.
std::string plot_svg(const ChartAxes& axes, const std::vector<ChartSeries>& series);

std::string bars_svg(const ChartAxes& axes, const std::vector<double>& values, int first_label);

struct ChartSpan {
    double begin = 0.0, end = 0.0;  // seconds
    int color = 0;
    std::string note;
};

struct ChartRow {
    std::string name;
    std::vector<ChartSpan> spans;
};

// A row for each name, spans of time in it.
std::string timeline_svg(const std::vector<ChartRow>& rows);

}  // namespace colugo
