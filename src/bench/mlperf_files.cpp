#include "bench/mlperf_files.h"

#include <cmath>

#include "base/error.h"
#include "bench/bfcl_scores.h"
#include "bench/statistics.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

// Percentiles have names as Python prints floats.
ordered_json summary(const Spread& spread) {
    if (spread.count == 0) return ordered_json::object();
    ordered_json percentiles = ordered_json::object();
    for (const char* percent :
         {"99.9", "99.0", "97.0", "95.0", "90.0", "80.0", "75.0", "50.0", "25.0", "10.0", "5.0", "1.0"}) {
        percentiles[percent] = spread.at(std::stod(percent));
    }
    return {{"total", spread.mean * static_cast<double>(spread.count)},
            {"min", spread.min},
            {"max", spread.max},
            {"median", spread.at(50)},
            {"avg", spread.mean},
            {"std_dev", spread.deviation},
            {"percentiles", std::move(percentiles)}};
}

constexpr double kNanosecondsPerMillisecond = 1e6;

template <typename Get>
ordered_json nanoseconds(const AgentRun& run, Get get) {
    std::vector<double> values;
    for (const TurnRecord& record : run.records) {
        const std::optional<double> value = record.failure ? std::nullopt : get(record.reply);
        if (value) values.push_back(*value * kNanosecondsPerMillisecond);
    }
    return summary(Spread(std::move(values)));
}

ordered_json output_lengths(const AgentRun& run) {
    std::vector<double> values;
    for (const TurnRecord& record : run.records) {
        if (!record.failure && record.reply.server.output_tokens) {
            values.push_back(static_cast<double>(*record.reply.server.output_tokens));
        }
    }
    return summary(Spread(std::move(values)));
}

ordered_json per_second(const ordered_json& amount, double seconds) {
    if (!amount.is_number() || seconds <= 0.0) return nullptr;
    return amount.get<double>() / seconds;
}

ordered_json result_summary(const AgentRun& run, const ordered_json& results, const std::string& version) {
    const bool complete = !run.interrupted;
    ordered_json reasons = ordered_json::object();
    for (const TurnRecord& record : run.records) {
        if (record.failure) continue;
        ordered_json& count = reasons[record.reply.finish_reason];
        count = count.is_null() ? 1 : count.get<int>() + 1;
    }
    return {{"version", version},
            {"git_sha", nullptr},
            {"n_samples_issued", run.records.size()},
            {"n_samples_completed", results["turns"]},
            {"n_samples_failed", results["turns_failed"]},
            {"duration_ns", static_cast<int64_t>(std::llround(run.seconds * 1e9))},
            {"state", complete ? "complete" : "interrupted"},
            {"complete", complete},
            {"qps", per_second(results["turns"], run.seconds)},
            {"tps", per_second(results["output_tokens"], run.seconds)},
            {"ttft", nanoseconds(run, [](const TurnReply& reply) { return reply.ttft_ms(); })},
            {"tpot", nanoseconds(run, [](const TurnReply& reply) { return reply.tpot_ms(); })},
            {"latency", nanoseconds(run, [](const TurnReply& reply) { return std::optional(reply.latency_ms()); })},
            {"output_sequence_lengths", output_lengths(run)},
            {"finish_reason_counts", std::move(reasons)},
            {"run_config", run.rules.json()}};
}

ordered_json turn_score(const AgentRun& run, const TurnRecord& record) {
    const AgentConversation& conversation = run.workload.conversations[record.conversation];
    ordered_json line = {{"conversation_id", conversation.id},
                         {"repeat", 1},
                         {"turn", conversation.turns[record.turn].row},
                         {"domain", "coding"},
                         {"score", record.iou ? ordered_json(std::round(*record.iou * 1e4) / 1e4) : ordered_json()}};
    if (record.failure) line["missing"] = true;
    line["gt_actions"] = record.expected;
    line["model_actions"] = record.got;
    return line;
}

ordered_json scores(const AgentRun& run, const ordered_json& results) {
    ordered_json turns = ordered_json::array();
    for (const TurnRecord& record : run.records) turns.push_back(turn_score(run, record));
    return {{"score", results["iou"]},
            {"valid", results["valid"]},
            {"turns",
             {{"expected_per_repeat", results["turns_expected"]},
              {"repeats", 1},
              {"expected", results["turns_expected"]},
              {"observed", results["turns"]},
              {"missing", results["turns_missing"]},
              {"scored", results["iou_turns"]}}},
            {"domains", {{"coding", {{"score", results["iou"]}, {"scored", results["iou_turns"]}}}}},
            {"per_turn", std::move(turns)}};
}

// The agentic score, and BFCL's where the accuracy phase was run.
ordered_json accuracy_results(const ordered_json& results) {
    ordered_json list = ordered_json::array();
    ordered_json file = ordered_json::object();
    if (results["turns_expected"] != 0) {
        list.push_back({{"dataset_name", "agentic_coding"},
                        {"dataset_type", "performance"},
                        {"unit_samples", results["turns_expected"]},
                        {"total_samples", results["turns_expected"]},
                        {"score", results["iou"]}});
    }
    if (!results["bfcl"].is_null()) {
        list.push_back(accuracy_entry(results["bfcl"]));
        file["average_accuracy"] = list.back()["score"];
    }
    file["accuracy_scores"] = std::move(list);
    return file;
}

std::string text_of(const ordered_json& value) {
    return value.dump(2) + "\n";
}

}  // namespace

std::map<std::string, std::string> mlperf_files(const AgentRun& run, const std::string& version) {
    const ordered_json results = results_json(run);
    if (run.accuracy_only) return {{"accuracy/accuracy_results.json", text_of(accuracy_results(results))}};
    return {{"performance/result_summary.json", text_of(result_summary(run, results, version))},
            {"accuracy/accuracy_results.json", text_of(accuracy_results(results))},
            {"scores.json", text_of(scores(run, results))}};
}

}  // namespace colugo
