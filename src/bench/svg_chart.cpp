#include "bench/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace colugo {

namespace {

constexpr double kWidth = 860, kHeight = 300, kLeft = 64, kRight = 16, kTop = 36, kBottom = 44;
constexpr double kRow = 18, kNameWidth = 220;  // of a timeline

// The step between two marks on an axis: 1, 2 or 5 times a power of ten, some five of them.
double tick_step(double max) {
    const double rough = std::max(max, 1e-9) / 5.0;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (rough <= factor * power) return factor * power;
    }
    return 10.0 * power;
}

std::string open_svg(double height) {
    return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n", kWidth, height);
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                       escaped_html(text));
}

std::string title_of(const std::string& note) {
    return note.empty() ? "" : "<title>" + escaped_html(note) + "</title>";
}

// Where values lie on the page.
class Frame {
 public:
    Frame(const ChartAxes& axes, double x_max, double y_max)
        : axes_(axes), x_max_(std::max(x_max, 1e-9)), y_max_(axes.y_max > 0.0 ? axes.y_max : std::max(y_max, 1e-9)) {}

    double x(double value) const { return kLeft + value / x_max_ * (kWidth - kLeft - kRight); }
    double y(double value) const {
        return kHeight - kBottom - std::min(value / y_max_, 1.0) * (kHeight - kTop - kBottom);
    }

    std::string grid(bool with_x) const {
        std::string svg;
        const double y_step = tick_step(y_max_);
        for (double value = 0.0; value <= y_max_ * 1.0001; value += y_step) {
            svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n",
                               kLeft, kWidth - kRight, y(value));
            const std::string label =
                axes_.percent ? fmt::format("{:.6g} %", 100.0 * value) : fmt::format("{:.6g}", value);
            svg += text_at(kLeft - 6, y(value) + 4, "end", label);
        }
        const double x_step = tick_step(x_max_);
        for (double value = 0.0; with_x && value <= x_max_ * 1.0001; value += x_step) {
            svg += text_at(x(value), kHeight - kBottom + 16, "middle", fmt::format("{:.6g}", value));
        }
        svg += text_at((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", axes_.x);
        svg += text_at(kLeft - 56, 14, "start", axes_.y);
        return svg;
    }

 private:
    const ChartAxes& axes_;
    double x_max_, y_max_;
};

std::string draw(const ChartSeries& series, const Frame& frame) {
    std::string svg;
    if (series.is_line) {
        for (const ChartPoint& point : series.points) {
            svg += fmt::format("{}{:.1f},{:.1f}", svg.empty() ? "" : " ", frame.x(point.x), frame.y(point.y));
        }
        return fmt::format("<polyline class=\"c{}\" points=\"{}\"/>\n", series.color, svg);
    }
    for (const ChartPoint& point : series.points) {
        svg += fmt::format("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\">{}</circle>\n", series.color,
                           frame.x(point.x), frame.y(point.y), title_of(point.note));
    }
    return svg;
}

std::string legend(const std::vector<ChartSeries>& series) {
    std::string svg;
    double x = kLeft + 140;
    for (const ChartSeries& one : series) {
        if (one.name.empty() || one.points.empty()) continue;
        svg += fmt::format("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"10\" r=\"4\"/>\n", one.color, x);
        svg += text_at(x + 8, 14, "start", one.name);
        x += 24 + 7.0 * static_cast<double>(one.name.size());
    }
    return svg;
}

}  // namespace

std::string escaped_html(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string plot_svg(const ChartAxes& axes, const std::vector<ChartSeries>& series) {
    double x_max = 0.0, y_max = 0.0;
    for (const ChartSeries& one : series) {
        for (const ChartPoint& point : one.points) {
            x_max = std::max(x_max, point.x);
            y_max = std::max(y_max, point.y);
        }
    }
    const Frame frame(axes, x_max, y_max);
    std::string svg = open_svg(kHeight) + frame.grid(true);
    for (const ChartSeries& one : series) {
        if (!one.points.empty()) svg += draw(one, frame);
    }
    return svg + legend(series) + "</svg>\n";
}

std::string bars_svg(const ChartAxes& axes, const std::vector<double>& values, int first_label) {
    const double y_max = values.empty() ? 0.0 : *std::max_element(values.begin(), values.end());
    const Frame frame(axes, static_cast<double>(std::max<size_t>(values.size(), 1)), y_max);
    std::string svg = open_svg(kHeight) + frame.grid(false);
    for (size_t i = 0; i < values.size(); ++i) {
        const double left = frame.x(static_cast<double>(i) + 0.15), right = frame.x(static_cast<double>(i) + 0.85);
        svg += fmt::format(
            "<rect class=\"c0\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{:.3f}</title>"
            "</rect>\n",
            left, frame.y(values[i]), right - left, frame.y(0.0) - frame.y(values[i]), values[i]);
        svg += text_at((left + right) / 2, kHeight - kBottom + 16, "middle",
                       std::to_string(first_label + static_cast<int>(i)));
    }
    return svg + "</svg>\n";
}

std::string timeline_svg(const std::vector<ChartRow>& rows) {
    double last = 1e-9;
    for (const ChartRow& row : rows) {
        for (const ChartSpan& span : row.spans) last = std::max(last, span.end);
    }
    const double height = kRow * static_cast<double>(rows.size()) + kBottom, bottom = height - kBottom;
    const auto x = [&](double seconds) { return kNameWidth + seconds / last * (kWidth - kNameWidth - kRight); };
    std::string svg = open_svg(height);
    for (double value = 0.0; value <= last * 1.0001; value += tick_step(last)) {
        svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1:.1f}\"/>\n", x(value),
                           bottom);
        svg += text_at(x(value), bottom + 16, "middle", fmt::format("{:.6g}", value));
    }
    svg += text_at((kNameWidth + kWidth) / 2, height - 8, "middle", "seconds of the run");
    for (size_t i = 0; i < rows.size(); ++i) {
        const double top = kRow * static_cast<double>(i);
        svg += text_at(kNameWidth - 6, top + 13, "end", rows[i].name);
        for (const ChartSpan& span : rows[i].spans) {
            svg += fmt::format(
                "<rect class=\"c{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\">{}</rect>\n",
                span.color, x(span.begin), top + 3, std::max(x(span.end) - x(span.begin), 0.1), kRow - 6,
                title_of(span.note));
        }
    }
    return svg + "</svg>\n";
}

}  // namespace colugo
