#include "bench/report_page.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "bench/statistics.h"
#include "bench/svg_chart.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1c1f24; --back: #fff; --soft: #6b7280; --grid: #e3e6ea; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --back: #16181c; --soft: #9aa3ae; --grid: #30343a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 900px;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
p.note { color: var(--soft); } pre { overflow-x: auto; font-size: 13px; line-height: 1.35; }
pre.wrapped { white-space: pre-wrap; overflow-wrap: anywhere; }
.bad { color: #c0392b; font-weight: 600; }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--soft); }
.grid { stroke: var(--grid); stroke-width: 1; }
circle { fill-opacity: .55; } polyline { fill: none; stroke-width: 2; }
.c0 { fill: #2b6cb0; stroke: #2b6cb0; } .c1 { fill: #dd6b20; stroke: #dd6b20; }
.c2 { fill: #2f855a; stroke: #2f855a; } .c3 { fill: #c53030; stroke: #c53030; }
circle, rect { stroke: none; } polyline.c0, polyline.c1, polyline.c2 { fill: none; }
)";

// As results.json and turns.jsonl name it: by the number of the recorded reply.
int64_t turn_of(const AgentRun& run, const TurnRecord& record) {
    return run.workload.conversations[record.conversation].turns[record.turn].row;
}

std::string note_of(const AgentRun& run, const TurnRecord& record) {
    return fmt::format("{}, turn {}", run.workload.conversations[record.conversation].id, turn_of(run, record));
}

// A point for each turn that has a value, over its place in the conversation, and the medians of all at that place.
template <typename Get>
std::vector<ChartSeries> by_turn(const AgentRun& run, const std::string& name, int color, Get get) {
    ChartSeries points{.name = name, .color = color, .is_line = false, .points = {}};
    std::map<size_t, std::vector<double>> at;
    for (const TurnRecord& record : run.records) {
        const std::optional<double> value = record.failure ? std::nullopt : get(record);
        if (!value) continue;
        points.points.push_back({.x = static_cast<double>(record.turn + 1), .y = *value, .note = note_of(run, record)});
        at[record.turn + 1].push_back(*value);
    }
    ChartSeries medians{.name = "median", .color = color + 1, .is_line = true, .points = {}};
    for (auto& [turn, values] : at) {
        medians.points.push_back({.x = static_cast<double>(turn), .y = Spread(values).at(50), .note = {}});
    }
    return {std::move(points), std::move(medians)};
}

std::optional<double> share(const std::optional<int64_t>& part, const std::optional<int64_t>& whole) {
    if (!part || !whole || *whole == 0) return std::nullopt;
    return static_cast<double>(*part) / static_cast<double>(*whole);
}

std::string section(std::string_view title, std::string_view note, const std::string& body) {
    return fmt::format("<h2>{}</h2>\n<p class=\"note\">{}</p>\n{}", escaped_html(title), escaped_html(note), body);
}

bool is_empty(const std::vector<ChartSeries>& series) {
    return std::all_of(series.begin(), series.end(), [](const ChartSeries& one) { return one.points.empty(); });
}

std::string chart_section(std::string_view title, std::string_view note, const ChartAxes& axes,
                          const std::vector<ChartSeries>& series) {
    return section(title, note, is_empty(series) ? "<p>The server does not tell.</p>\n" : plot_svg(axes, series));
}

std::string latency_sections(const AgentRun& run) {
    const auto ttft = by_turn(run, "a turn", 0, [](const TurnRecord& record) { return record.reply.ttft_ms(); });
    const auto prefill =
        by_turn(run, "a turn", 0, [](const TurnRecord& record) { return record.reply.server.prefill_ms; });
    return chart_section("Time to the first token", "From the request to the first text or call of the reply.",
                         {.x = "place in the conversation", .y = "milliseconds"}, ttft) +
           chart_section("Prefill", "The time the server says it took to read what it had not kept of the prompt.",
                         {.x = "place in the conversation", .y = "milliseconds"}, prefill);
}

std::string cache_section(const AgentRun& run) {
    std::vector<ChartSeries> series = by_turn(run, "cached", 0, [](const TurnRecord& record) {
        return share(record.reply.server.cached_tokens, record.reply.server.prompt_tokens);
    });
    series.pop_back();
    const std::vector<ChartSeries> ideal = by_turn(run, "in earlier prompts, median", 1, [](const TurnRecord& record) {
        return share(record.ideal_cached, record.reply.server.prompt_tokens);
    });
    series.push_back(ideal.back());
    series.back().name = ideal.front().name;
    return chart_section(
        "Cached share",
        "Of each prompt, what the server did not have to read again, and what an earlier prompt of the run begins "
        "with too.",
        {.x = "place in the conversation", .y = "share of the prompt", .y_max = 1.0, .percent = true}, series);
}

std::string acceptance_section(const ordered_json& results) {
    const ordered_json& shares = results["drafts"]["accepted_by_position"];
    const std::string note = "Of the passes that verified drafts, those in which the draft at this place was right.";
    if (!shares.is_array()) return section("Drafts by position", note, "<p>The server does not tell.</p>\n");
    const ChartAxes axes{.x = "place of the draft in its pass", .y = "share of passes", .y_max = 1.0, .percent = true};
    return section("Drafts by position", note, bars_svg(axes, shares.get<std::vector<double>>(), 1));
}

std::string timeline_section(const AgentRun& run) {
    std::map<size_t, ChartRow> rows;
    for (const TurnRecord& record : run.records) {
        ChartRow& row = rows[record.conversation];
        row.name = run.workload.conversations[record.conversation].id;
        const double begin = record.begin_seconds, end = begin + 1e-3 * record.reply.latency_ms();
        const double first = record.failure ? begin : begin + 1e-3 * record.reply.ttft_ms().value_or(end - begin);
        const std::string note = fmt::format("turn {}, {:.0f} ms", turn_of(run, record), record.reply.latency_ms());
        row.spans.push_back({.begin = begin, .end = first, .color = 0, .note = note});
        row.spans.push_back({.begin = first, .end = end, .color = record.failure ? 3 : 1, .note = note});
    }
    std::vector<ChartRow> list;
    for (auto& [conversation, row] : rows) list.push_back(std::move(row));
    return section("Timeline", "Blue until the first token, orange behind it; red: the turn failed.",
                   timeline_svg(list));
}

std::string accuracy_section(const ordered_json& bfcl) {
    std::string table = fmt::format("{:<24}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "", "%", "right", "replies", "asked", "of");
    for (const auto& [name, subset] : bfcl["subsets"].items()) {
        const std::string score = subset["score"].is_null() ? "" : fmt::format("{:.2f}", subset["score"].get<double>());
        table += fmt::format("{:<24}{:>9}{:>9}{:>9}{:>9}{:>9}\n", name, score, subset["right"].get<size_t>(),
                             subset["answered"].get<size_t>(), subset["asked"].get<size_t>(),
                             subset["questions"].get<size_t>());
    }
    return section("Calls of tools", "The questions of BFCL by subset; what is wrong with a reply is in bfcl.jsonl.",
                   "<pre>" + escaped_html(table) + "</pre>\n");
}

std::string verdict(const ordered_json& results) {
    if (results["valid"].get<bool>()) return "<p>The run is valid.</p>\n";
    const std::string cut = results["interrupted"].get<bool>() ? "; it was interrupted" : "";
    const ordered_json& bfcl = results["bfcl"];
    if (results["turns_expected"] == 0 && !bfcl.is_null()) {
        return fmt::format(
            "<p class=\"bad\">The run is not valid: {} of {} questions were asked, {} have a reply{}.</p>\n",
            bfcl["asked"].get<size_t>(), bfcl["questions"].get<size_t>(), bfcl["answered"].get<size_t>(), cut);
    }
    return fmt::format("<p class=\"bad\">The run is not valid: {} of {} turns have a reply{}.</p>\n",
                       results["turns"].get<size_t>(), results["turns_expected"].get<size_t>(), cut);
}

}  // namespace

std::string report_page(const AgentRun& run, const ordered_json& results) {
    std::string page = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>colugo bench "
        "agentic</title>\n"
        "<style>{}</style>\n</head>\n<body>\n<h1>colugo bench agentic</h1>\n",
        kStyle);
    page += verdict(results);
    page += "<pre>" + escaped_html(results_table(results)) + "</pre>\n";
    if (!run.accuracy_only)
        page += latency_sections(run) + cache_section(run) + acceptance_section(results) + timeline_section(run);
    if (!results["bfcl"].is_null()) page += accuracy_section(results["bfcl"]);
    page += section("Setup", "What makes the run repeatable.",
                    "<pre class=\"wrapped\">" + escaped_html(results["setup"].dump(2)) + "</pre>\n");
    return page + "</body>\n</html>\n";
}

}  // namespace colugo
