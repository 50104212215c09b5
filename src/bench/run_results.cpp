#include "bench/run_results.h"

#include <cstdlib>

#include "base/error.h"
#include "bench/statistics.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

template <typename T>
ordered_json or_null(const std::optional<T>& value) {
    return value ? ordered_json(*value) : ordered_json();
}

// As Python's round() does it.
double rounded(double value, int places) {
    return std::strtod(fmt::format("{:.{}f}", value, places).c_str(), nullptr);
}

// The sum over all turns that have a reply; absent unless each tells it.
template <typename T>
std::optional<T> sum(const AgentRun& run, std::optional<T> ServerFigures::*figure) {
    T total = 0;
    for (const TurnRecord& record : run.records) {
        if (record.failure) continue;
        const std::optional<T>& value = record.reply.server.*figure;
        if (!value) return std::nullopt;
        total += *value;
    }
    return total;
}

std::optional<int64_t> ideal_sum(const AgentRun& run) {
    int64_t total = 0;
    for (const TurnRecord& record : run.records) {
        if (record.failure) continue;
        if (!record.ideal_cached) return std::nullopt;
        total += *record.ideal_cached;
    }
    return total;
}

// The spread of a time over the turns that have it.
template <typename Get>
ordered_json spread(const AgentRun& run, Get get) {
    std::vector<double> values;
    for (const TurnRecord& record : run.records) {
        if (record.failure) continue;
        if (const std::optional<double> value = get(record.reply)) values.push_back(*value);
    }
    return Spread(std::move(values)).json();
}

ordered_json difference(const std::optional<int64_t>& whole, const std::optional<int64_t>& part) {
    return whole && part ? ordered_json(*whole - *part) : ordered_json();
}

ordered_json ratio(const std::optional<int64_t>& part, const std::optional<int64_t>& whole) {
    return part && whole && *whole > 0 ? ordered_json(static_cast<double>(*part) / static_cast<double>(*whole))
                                       : ordered_json();
}

void add_score(const AgentRun& run, ordered_json& results) {
    double total = 0.0;
    size_t scored = 0;
    for (const TurnRecord& record : run.records) {
        if (!record.iou) continue;
        total += *record.iou;
        ++scored;
    }
    results["iou"] = scored == 0 ? ordered_json() : ordered_json(rounded(total / static_cast<double>(scored), 4));
    results["iou_turns"] = scored;
}

void add_tokens(const AgentRun& run, ordered_json& results) {
    const auto prompt = sum(run, &ServerFigures::prompt_tokens), cached = sum(run, &ServerFigures::cached_tokens);
    const auto output = sum(run, &ServerFigures::output_tokens), ideal = ideal_sum(run);
    results["wall_s"] = run.seconds;
    results["prompt_tokens"] = or_null(prompt);
    results["cached_tokens"] = or_null(cached);
    results["ideal_cached_tokens"] = or_null(ideal);
    results["computed_prompt_tokens"] = difference(prompt, cached);
    results["ideal_computed_prompt_tokens"] = difference(prompt, ideal);
    results["cached_share"] = ratio(cached, prompt);
    results["output_tokens"] = or_null(output);
    results["output_tok_s"] =
        output && run.seconds > 0.0 ? ordered_json(static_cast<double>(*output) / run.seconds) : ordered_json();
}

// How many of the passes with drafts had the one at each position right.
ordered_json acceptance_by_position(const AgentRun& run) {
    if (!run.before || !run.after) return nullptr;
    const double passes = run.after->passes - run.before->passes;
    if (passes <= 0.0) return nullptr;
    ordered_json shares = ordered_json::array();
    for (const auto& [position, count] : run.after->by_position) {
        const auto earlier = run.before->by_position.find(position);
        const double base = earlier == run.before->by_position.end() ? 0.0 : earlier->second;
        while (shares.size() < static_cast<size_t>(position)) shares.push_back(0.0);
        shares.push_back((count - base) / passes);
    }
    while (!shares.empty() && shares.back() == 0.0) shares.erase(shares.size() - 1);
    return shares;
}

void add_drafts(const AgentRun& run, ordered_json& results) {
    const auto passes = sum(run, &ServerFigures::passes), drafted = sum(run, &ServerFigures::drafted);
    const auto accepted = sum(run, &ServerFigures::accepted);
    const bool told = passes && accepted && *passes > 0;
    results["tokens_per_pass"] =
        told ? ordered_json(1.0 + static_cast<double>(*accepted) / static_cast<double>(*passes)) : ordered_json();
    results["drafts"] = {{"passes", or_null(passes)},
                         {"drafted", or_null(drafted)},
                         {"accepted", or_null(accepted)},
                         {"acceptance", ratio(accepted, drafted)},
                         {"accepted_by_position", acceptance_by_position(run)}};
}

ordered_json failures_json(const AgentRun& run) {
    ordered_json list = ordered_json::array();
    for (const TurnRecord& record : run.records) {
        if (!record.failure) continue;
        const AgentConversation& conversation = run.workload.conversations[record.conversation];
        list.push_back({{"conversation", conversation.id},
                        {"turn", conversation.turns[record.turn].row},
                        {"kind", record.failure->kind},
                        {"message", record.failure->message}});
    }
    return list;
}

ordered_json seconds_of(const std::optional<double>& milliseconds) {
    return milliseconds ? ordered_json(*milliseconds * 1e-3) : ordered_json();
}

}  // namespace

bool AgentRun::is_valid() const {
    if (interrupted || (!bfcl.is_null() && bfcl["answered"] == 0)) return false;
    if (accuracy_only) return true;
    size_t replies = 0;
    for (const TurnRecord& record : records) replies += record.failure ? 0 : 1;
    return replies > 0 && replies == workload.turns();
}

ordered_json results_json(const AgentRun& run) {
    const ordered_json failures = failures_json(run);
    const size_t expected = run.workload.turns(), failed = failures.size();
    ordered_json results = {{"format", kResultsFormat}, {"benchmark", "agentic"}, {"valid", run.is_valid()}};
    results["interrupted"] = run.interrupted;
    results["phases"] = ordered_json::array();
    if (!run.accuracy_only) results["phases"].push_back("performance");
    if (!run.bfcl.is_null()) results["phases"].push_back("accuracy");
    const std::string simulation = run.rules.simulation();
    results["simulation"] = simulation.empty() ? ordered_json() : ordered_json(simulation);
    results["turns"] = run.records.size() - failed;
    results["turns_expected"] = expected;
    results["turns_failed"] = failed;
    results["turns_missing"] = expected - (run.records.size() - failed);
    results["conversations"] = run.workload.conversations.size();
    add_score(run, results);
    results["bfcl"] = run.bfcl;
    add_tokens(run, results);
    results["ttft_ms"] = spread(run, [](const TurnReply& reply) { return reply.ttft_ms(); });
    results["tpot_ms"] = spread(run, [](const TurnReply& reply) { return reply.tpot_ms(); });
    results["latency_ms"] = spread(run, [](const TurnReply& reply) { return std::optional(reply.latency_ms()); });
    add_drafts(run, results);
    results["server_s"] = {{"queue", seconds_of(sum(run, &ServerFigures::queue_ms))},
                           {"prefill", seconds_of(sum(run, &ServerFigures::prefill_ms))},
                           {"decode", seconds_of(sum(run, &ServerFigures::decode_ms))}};
    results["energy_j"] = run.joules ? ordered_json(*run.joules) : ordered_json("not readable");
    results["failures"] = failures;
    results["no_ideal"] = run.no_ideal.empty() ? ordered_json() : ordered_json(run.no_ideal);
    results["setup"] = run.setup;
    return results;
}

ordered_json turn_json(const AgentRun& run, const TurnRecord& record) {
    const AgentConversation& conversation = run.workload.conversations[record.conversation];
    const TurnReply& reply = record.reply;
    const ServerFigures& server = reply.server;
    ordered_json line = {{"conversation", conversation.id},
                         {"turn", conversation.turns[record.turn].row},
                         {"index", record.turn + 1},
                         {"begin_s", record.begin_seconds}};
    line["failure"] = nullptr;
    if (record.failure) line["failure"] = {{"kind", record.failure->kind}, {"message", record.failure->message}};
    line["latency_ms"] = reply.latency_ms();
    line["ttft_ms"] = or_null(reply.ttft_ms());
    line["tpot_ms"] = or_null(reply.tpot_ms());
    line["prompt_tokens"] = or_null(server.prompt_tokens);
    line["cached_tokens"] = or_null(server.cached_tokens);
    line["ideal_cached_tokens"] = or_null(record.ideal_cached);
    line["output_tokens"] = or_null(server.output_tokens);
    line["finish_reason"] = reply.finish_reason.empty() ? ordered_json() : ordered_json(reply.finish_reason);
    line["iou"] = or_null(record.iou);
    line["expected"] = record.expected;
    line["got"] = record.got;
    line["server"] = {{"queue_ms", or_null(server.queue_ms)},   {"prefill_ms", or_null(server.prefill_ms)},
                      {"decode_ms", or_null(server.decode_ms)}, {"ttft_ms", or_null(server.ttft_ms)},
                      {"passes", or_null(server.passes)},       {"drafted", or_null(server.drafted)},
                      {"accepted", or_null(server.accepted)}};
    line["content"] = reply.content;
    if (!reply.reasoning.empty()) line["reasoning"] = reply.reasoning;
    line["tool_calls"] = reply.calls;
    return line;
}

}  // namespace colugo
