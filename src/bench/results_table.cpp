// The table for people.
#include "base/error.h"
#include "bench/run_results.h"
#include "text/terminal_text.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

std::string number(const ordered_json& value, int places) {
    if (!value.is_number()) return value.is_string() ? value.get<std::string>() : "not told";
    return fmt::format("{:.{}f}", value.get<double>(), places);
}

// 12,345
std::string count(const ordered_json& value) {
    if (!value.is_number()) return "not told";
    const std::string digits = std::to_string(value.get<int64_t>());
    std::string text;
    for (size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
        text += digits[i];
    }
    return text;
}

std::string share(const ordered_json& part, const ordered_json& whole) {
    if (!part.is_number() || !whole.is_number()) return "not told";
    if (whole.get<double>() == 0.0) return "none";
    return fmt::format("{:.2f} %", 100.0 * part.get<double>() / whole.get<double>());
}

std::string spread(const ordered_json& times) {
    if (!times.is_object()) return "not told";
    return fmt::format("{:>10} {:>10} {:>10} {:>10}", number(times["mean"], 2), number(times["p50"], 2),
                       number(times["p90"], 2), number(times["p99"], 2));
}

class Table {
 public:
    void add(std::string_view name, std::string_view value) {
        text_ += fmt::format("{:<26} {}\n", name, on_one_line(value));  // a server's message may be among them
    }
    std::string text() const { return text_; }

 private:
    std::string text_;
};

void add_accuracy(const ordered_json& bfcl, Table& table) {
    int64_t missing = 0;
    std::string subsets;
    for (const auto& [name, questions] : bfcl["missing"].items()) {
        missing += questions.get<int64_t>();
        subsets += fmt::format("{}{} {}", subsets.empty() ? "" : ", ", name, count(questions));
    }
    if (missing > 0)
        table.add("BFCL DATA NOT WHOLE", fmt::format("{} questions are missing: {}", count(missing), subsets));
    if (!bfcl["sample_of"].is_null())
        table.add("BFCL, A SAMPLE",
                  fmt::format("{} of {} questions", count(bfcl["questions"]), count(bfcl["sample_of"])));
    table.add("BFCL overall",
              fmt::format("{} ({} of {})", number(bfcl["overall"], 2), count(bfcl["right"]), count(bfcl["asked"])));
    std::string categories;
    for (const auto& [name, score] : bfcl["categories"].items())
        categories += fmt::format("{}{} {}", categories.empty() ? "" : ", ", name, number(score, 2));
    table.add("  normalized", fmt::format("{} ({})", number(bfcl["normalized"], 2), categories));
    if (bfcl["answered"] != bfcl["asked"])
        table.add("  without a reply", count(bfcl["asked"].get<int64_t>() - bfcl["answered"].get<int64_t>()));
    if (bfcl["asked"] != bfcl["questions"])
        table.add("  not asked", count(bfcl["questions"].get<int64_t>() - bfcl["asked"].get<int64_t>()));
    table.add("  wall clock", fmt::format("{} s", number(bfcl["wall_s"], 2)));
}

void add_tokens(const ordered_json& results, Table& table) {
    table.add("prompt tokens", count(results["prompt_tokens"]));
    table.add("  cached", fmt::format("{} ({})", count(results["cached_tokens"]),
                                      share(results["cached_tokens"], results["prompt_tokens"])));
    const ordered_json& ideal = results["ideal_cached_tokens"];
    table.add("  in earlier prompts",
              ideal.is_null() && results["no_ideal"].is_string()
                  ? "not counted: " + results["no_ideal"].get<std::string>()
                  : fmt::format("{} ({})", count(ideal), share(ideal, results["prompt_tokens"])));
    table.add("  computed", count(results["computed_prompt_tokens"]));
    table.add("output tokens",
              fmt::format("{}, {} tok/s", count(results["output_tokens"]), number(results["output_tok_s"], 2)));
    table.add("tokens per pass", number(results["tokens_per_pass"], 3));
    table.add("drafts accepted", share(results["drafts"]["accepted"], results["drafts"]["drafted"]));
}

}  // namespace

std::string results_table(const ordered_json& results) {
    Table table;
    const bool valid = results["valid"].get<bool>();
    table.add("run", valid ? "valid" : results["interrupted"].get<bool>() ? "INVALID: interrupted" : "INVALID");
    if (!results["bfcl"].is_null()) add_accuracy(results["bfcl"], table);
    if (results["turns_expected"] == 0) return table.text();  // of the accuracy phase alone
    if (results["simulation"].is_string()) {
        table.add("A SIMULATION", results["simulation"].get_ref<const std::string&>());
    }
    table.add("turns", fmt::format("{} of {}, {} conversations", count(results["turns"]),
                                   count(results["turns_expected"]), count(results["conversations"])));
    table.add("IoU", number(results["iou"], 4));
    table.add("wall clock", fmt::format("{} s", number(results["wall_s"], 2)));
    add_tokens(results, table);
    table.add("milliseconds", fmt::format("{:>10} {:>10} {:>10} {:>10}", "mean", "p50", "p90", "p99"));
    table.add("  first token (TTFT)", spread(results["ttft_ms"]));
    table.add("  a token more (TPOT)", spread(results["tpot_ms"]));
    const ordered_json& server = results["server_s"];
    table.add("seconds of the server", fmt::format("prefill {}, decode {}, queue {}", number(server["prefill"], 2),
                                                   number(server["decode"], 2), number(server["queue"], 2)));
    const ordered_json& energy = results["energy_j"];
    table.add("energy", energy.is_number() ? number(energy, 0) + " J" : "not readable");
    const ordered_json& peak = results["setup"]["server"]["memory_peak_bytes"];
    if (peak.is_number()) table.add("server's memory peak", fmt::format("{:.2f} GB", peak.get<double>() * 1e-9));
    for (const ordered_json& failure : results["failures"]) {
        table.add("failed", fmt::format("{}, turn {}: {}", failure["conversation"].get<std::string>(),
                                        failure["turn"].get<int64_t>(), failure["message"].get<std::string>()));
    }
    return table.text();
}

}  // namespace colugo
