#include "bench/bfcl_run.h"

#include <thread>

namespace colugo {

using nlohmann::ordered_json;
using Clock = Endpoint::Clock;

namespace {

double seconds_between(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
}

template <typename T>
ordered_json or_null(const std::optional<T>& value) {
    return value ? ordered_json(*value) : ordered_json();
}

ordered_json failure_json(const TurnFailure& failure) {
    return {{"kind", failure.kind}, {"message", failure.message}};
}

}  // namespace

BfclRun::BfclRun(BfclPhase phase, const ReplayRules& rules, std::string model, Callbacks callbacks)
    : phase_(std::move(phase)),
      rules_(rules),
      model_(std::move(model)),
      callbacks_(std::move(callbacks)),
      records_(phase_.size()) {}

void BfclRun::run() {
    begin_ = Clock::now();
    const int count = rules_.interleave ? 1 : rules_.concurrency;
    std::vector<std::thread> threads;
    for (int i = 1; i < count; ++i) threads.emplace_back([this] { run_one_by_one(); });
    run_one_by_one();
    for (std::thread& thread : threads) thread.join();
    seconds_ = seconds_between(begin_, Clock::now());
}

void BfclRun::run_one_by_one() {
    const std::unique_ptr<Endpoint> endpoint = callbacks_.connect();
    while (const std::optional<size_t> sample = next_sample()) ask(*endpoint, *sample);
}

std::optional<size_t> BfclRun::next_sample() {
    const std::lock_guard lock(mutex_);
    if (next_ == phase_.size() || (callbacks_.should_stop && callbacks_.should_stop())) return std::nullopt;
    return next_++;
}

void BfclRun::ask(Endpoint& endpoint, size_t sample) {
    const ordered_json own = phase_.request(sample);
    ordered_json body = rules_.request(model_, own["messages"], own.value("tools", ordered_json::array()));
    if (own.contains("tool_choice")) body["tool_choice"] = own["tool_choice"];
    const auto timeout =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(rules_.turn_timeout));
    const std::string text = body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    Record record;
    record.reply = endpoint.chat(text, Clock::now() + timeout, record.failure);

    const std::lock_guard lock(mutex_);
    if (!record.failure) {
        if (phase_.add_reply(sample, bfcl_calls(record.reply.calls)).right) ++right_;
    } else if (record.failure->kind != "interrupted") {
        phase_.add_failure(sample);
    }
    ++done_;
    records_[sample] = std::move(record);
    callbacks_.progress({.done = done_,
                         .total = phase_.size(),
                         .seconds = seconds_between(begin_, Clock::now()),
                         .score = static_cast<double>(right_) / static_cast<double>(done_)});
}

ordered_json BfclRun::failures() const {
    ordered_json list = ordered_json::array();
    for (size_t i = 0; i < records_.size(); ++i) {
        if (!records_[i] || !records_[i]->failure) continue;
        ordered_json entry = {{"id", phase_.sample(i).id}};
        entry.update(failure_json(*records_[i]->failure));
        list.push_back(std::move(entry));
    }
    return list;
}

ordered_json BfclRun::json() const {
    ordered_json json = scores_json(phase_.scores());
    json["wall_s"] = seconds_;
    json["failures"] = failures();
    return json;
}

ordered_json BfclRun::line(size_t sample) const {
    ordered_json line = phase_.row(sample);
    if (!records_[sample]) return line;
    const Record& record = *records_[sample];
    line["failure"] = record.failure ? failure_json(*record.failure) : ordered_json();
    line["latency_ms"] = record.reply.latency_ms();
    line["prompt_tokens"] = or_null(record.reply.server.prompt_tokens);
    line["cached_tokens"] = or_null(record.reply.server.cached_tokens);
    line["output_tokens"] = or_null(record.reply.server.output_tokens);
    line["finish_reason"] =
        record.reply.finish_reason.empty() ? ordered_json() : ordered_json(record.reply.finish_reason);
    line["content"] = record.reply.content;
    if (!record.reply.reasoning.empty()) line["reasoning"] = record.reply.reasoning;
    line["tool_calls"] = record.reply.calls;
    return line;
}

std::string BfclRun::lines() const {
    std::string lines;
    for (size_t i = 0; i < records_.size(); ++i)
        lines += line(i).dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    return lines;
}

}  // namespace colugo
