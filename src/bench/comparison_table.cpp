// The tables for people of a comparison.
#include <fmt/format.h>

#include "bench/run_comparison.h"
#include "bench/text_table.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

using Lines = std::vector<std::vector<std::string>>;

std::string number(const ordered_json& value, int places) {
    return value.is_number() ? fmt::format("{:.{}f}", value.get<double>(), places) : "not told";
}

// 1.52 (1.49 to 1.60)
std::string estimate(const ordered_json& value, int places, double unit = 1.0) {
    if (value.is_null()) return "not told";
    const auto text = [&](const char* name) {
        return fmt::format("{:.{}f}", value[name].get<double>() * unit, places);
    };
    return fmt::format("{} ({} to {})", text("value"), text("low"), text("high"));
}

std::string runs_table(const ordered_json& comparison) {
    Lines lines = {{"run", "turns", "IoU", "wall s", "latency s", "prefill s", "decode s", "wait s", "computed tokens",
                    "output tokens", "tokens per pass"}};
    for (const ordered_json& run : comparison["runs"]) {
        std::string name = run["name"];
        if (!run["valid"].get<bool>()) name += " (INVALID)";
        if (!run["simulation"].is_null()) name += " (a simulation)";
        lines.push_back({name, run["turns"].dump(), estimate(run["iou"], 3), number(run["wall_s"], 1),
                         number(run["latency_s"], 1), number(run["prefill_s"], 1), number(run["decode_s"], 1),
                         number(run["wait_s"], 1), number(run["computed_tokens"], 0), number(run["output_tokens"], 0),
                         number(run["tokens_per_pass"], 2)});
    }
    return text_table(lines);
}

std::string pairs_table(const ordered_json& comparison) {
    Lines lines = {{"times as fast as " + comparison["runs"][0]["name"].get<std::string>(), "turns", "whole turns",
                    "first token", "a token more", "prefill", "decode", "IoU difference", "same replies %"}};
    for (const ordered_json& pair : comparison["pairs"]) {
        lines.push_back({pair["name"], pair["turns"].dump(), estimate(pair["faster"], 2),
                         estimate(pair["ttft_faster"], 2), estimate(pair["tpot_faster"], 2),
                         estimate(pair["prefill_faster"], 2), estimate(pair["decode_faster"], 2),
                         estimate(pair["iou_difference"], 3), estimate(pair["same_replies"], 1, 100.0)});
    }
    return text_table(lines);
}

void add_bands(const ordered_json& run, bool is_first, Lines& lines) {
    for (const ordered_json& band : run["bands"]) {
        if (band["turns"] == 0) continue;
        const std::string to = band["to"].is_null() ? "" : band["to"].dump();
        lines.push_back({run["name"], band["from"].dump() + "-" + to, band["turns"].dump(), estimate(band["iou"], 3),
                         estimate(band["with_call"], 1, 100.0),
                         band["valid_calls"].is_null() ? "no calls" : estimate(band["valid_calls"], 1, 100.0),
                         is_first ? "" : estimate(band["agreement"], 1, 100.0)});
    }
}

std::string bands_table(const ordered_json& comparison) {
    Lines lines = {
        {"run", "turns of a conversation", "count", "IoU", "turns with a call %", "valid calls %", "agreement %"}};
    add_bands(comparison["runs"][0], true, lines);
    for (const ordered_json& pair : comparison["pairs"]) add_bands(pair, false, lines);
    return text_table(lines);
}

}  // namespace

std::string comparison_table(const ordered_json& comparison) {
    return runs_table(comparison) + "\n" + pairs_table(comparison) + "\n" + bands_table(comparison);
}

}  // namespace colugo
