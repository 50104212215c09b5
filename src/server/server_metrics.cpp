#include "server/server_metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <cmath>

namespace colugo {

namespace {

using prometheus::ClientMetric;
using prometheus::Histogram;
using prometheus::MetricFamily;
using prometheus::MetricType;

const Histogram::BucketBoundaries kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,   0.25,  0.5,
                                              1.0,   2.5,    5.0,   10.0, 30.0,  60.0, 120.0, 300.0, 600.0};

// Of seconds, microseconds: what is beyond them is noise, of twice as many digits.
double to_millionths(double value) {
    return std::round(1e6 * value) / 1e6;
}

// The engine's own counters, as they are when they are asked for.
class EngineFamilies : public prometheus::Collectable {
 public:
    EngineFamilies(const ReplySource& source, std::string model) : source_(source), model_(std::move(model)) {}

    std::vector<MetricFamily> Collect() const override {
        const EngineMetrics metrics = source_.metrics();
        std::vector<MetricFamily> families;
        add_requests(metrics, families);
        add_cache(metrics, families);
        add_drafts(metrics.drafts, families);
        return families;
    }

 private:
    using Labels = std::vector<ClientMetric::Label>;

    void add_value(MetricFamily& family, double value, Labels labels) const {
        ClientMetric metric;
        metric.label = std::move(labels);
        metric.label.push_back({"model_name", model_});
        (family.type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = to_millionths(value);
        family.metric.push_back(std::move(metric));
    }
    MetricFamily& add_family(std::vector<MetricFamily>& families, MetricType type, const char* name,
                             const char* help) const {
        return families.emplace_back(MetricFamily{std::string("colugo:") + name, help, type, {}});
    }
    template <typename Value>
    void add(std::vector<MetricFamily>& families, MetricType type, const char* name, const char* help, Value value,
             Labels labels = {}) const {
        add_value(add_family(families, type, name, help), static_cast<double>(value), std::move(labels));
    }

    void add_requests(const EngineMetrics& metrics, std::vector<MetricFamily>& families) const {
        add(families, MetricType::Gauge, "num_requests_running",
            "Requests whose prompt is being read or whose reply is being written", metrics.running);
        add(families, MetricType::Gauge, "num_requests_waiting",
            "Requests that wait until one of the running ones ends", metrics.waiting);
        add(families, MetricType::Counter, "prompt_tokens_computed_total",
            "Prompt tokens that were computed, because the cache did not have them", metrics.prefill_rows);
        add(families, MetricType::Counter, "decode_rows_total",
            "Tokens that were computed to write replies, drafted ones left out", metrics.decode_rows);
        add(families, MetricType::Counter, "engine_steps_total",
            "Steps of the engine, each with at most one pass of the model", metrics.steps);
        add(families, MetricType::Counter, "engine_step_seconds_total", "Seconds that the engine spent in its steps",
            metrics.step_seconds);
        add(families, MetricType::Counter, "engine_form_seconds_total",
            "Seconds of the engine's steps that went into holding replies to a JSON schema or to calls, counted when a "
            "reply ends",
            metrics.form_seconds);
        add(families, MetricType::Counter, "num_preemptions_total",
            "Times that a running request made room for one of a higher priority", metrics.scheduler.preemptions);
        add(families, MetricType::Counter, "shared_reads_total",
            "Requests that waited while another one read the beginning that both prompts have",
            metrics.scheduler.shared_reads);
    }
    void add_cache(const EngineMetrics& metrics, std::vector<MetricFamily>& families) const {
        const CacheCounters& cache = metrics.cache;
        const double budget = static_cast<double>(metrics.cache_bytes);
        add(families, MetricType::Gauge, "kv_cache_usage_perc",
            "Part of the cache's memory that is in use, from 0 to 1",
            budget > 0.0 ? static_cast<double>(metrics.used_bytes) / budget : 0.0);
        add(families, MetricType::Gauge, "cache_snapshots",
            "Snapshots in the cache, each a place in a prompt where reading can go on", metrics.snapshots);
        add(families, MetricType::Counter, "prefix_cache_queries_total",
            "Prompt tokens that were looked up in the cache", cache.query_tokens);
        MetricFamily& hits = add_family(families, MetricType::Counter, "prefix_cache_hits_total",
                                        "Prompt tokens that the cache had, by where they came from");
        add_value(hits, static_cast<double>(cache.hit_tokens - metrics.disk.read_tokens), {{"source", "memory"}});
        add_value(hits, static_cast<double>(metrics.disk.read_tokens), {{"source", "disk"}});
        add(families, MetricType::Counter, "cache_snapshots_taken_total", "Snapshots that were put into the cache",
            cache.snapshots_taken);
        add(families, MetricType::Counter, "cache_evictions_total",
            "Snapshots and pages that the cache gave up to make room", cache.evictions);
        MetricFamily& disk =
            add_family(families, MetricType::Counter, "cache_disk_operations_total",
                       "Cache entries written to the disk, read from it, and such attempts that failed");
        add_value(disk, static_cast<double>(metrics.disk.writes), {{"kind", "write"}});
        add_value(disk, static_cast<double>(metrics.disk.reads), {{"kind", "read"}});
        add_value(disk, static_cast<double>(metrics.disk.failed), {{"kind", "failed"}});
    }
    void add_drafts(const SpecCounters& drafts, std::vector<MetricFamily>& families) const {
        add(families, MetricType::Counter, "spec_decode_num_drafts_total",
            "Passes of the model that verified drafted tokens", drafts.passes);
        MetricFamily& drafted = add_family(families, MetricType::Counter, "spec_decode_num_draft_tokens_total",
                                           "Tokens that were drafted, by who drafted them");
        add_value(drafted, static_cast<double>(drafts.all.drafted), {{"source", "all"}});
        add_value(drafted, static_cast<double>(drafts.head.drafted), {{"source", "mtp"}});
        add_value(drafted, static_cast<double>(drafts.lookup.drafted), {{"source", "lookup"}});
        MetricFamily& accepted = add_family(families, MetricType::Counter, "spec_decode_num_accepted_tokens_total",
                                            "Drafted tokens that became part of a reply, by who drafted them");
        add_value(accepted, static_cast<double>(drafts.all.accepted), {{"source", "all"}});
        add_value(accepted, static_cast<double>(drafts.head.accepted), {{"source", "mtp"}});
        add_value(accepted, static_cast<double>(drafts.lookup.accepted), {{"source", "lookup"}});
        MetricFamily& positions =
            add_family(families, MetricType::Counter, "spec_decode_num_accepted_tokens_per_pos_total",
                       "Drafted tokens that became part of a reply, by their depth in the draft (0: the next token)");
        for (size_t depth = 0; depth < drafts.by_depth.size(); ++depth) {
            add_value(positions, static_cast<double>(drafts.by_depth[depth].accepted),
                      {{"position", std::to_string(depth)}});
        }
    }

    const ReplySource& source_;
    const std::string model_;
};

}  // namespace

struct ServerMetrics::Series {
    Series(const ReplySource& source, const std::string& model)
        : engine(source, model), labels({{"model_name", model}}) {}

    Histogram& histogram(const char* name, const char* help) {
        return prometheus::BuildHistogram()
            .Name(std::string("colugo:") + name)
            .Help(help)
            .Register(registry)
            .Add(labels, kSeconds);
    }
    prometheus::Family<prometheus::Counter>& counter(const char* name, const char* help) {
        return prometheus::BuildCounter().Name(std::string("colugo:") + name).Help(help).Register(registry);
    }

    EngineFamilies engine;
    prometheus::Labels labels;
    prometheus::Registry registry;
    Histogram& ttft =
        histogram("time_to_first_token_seconds", "Seconds from a request's submission to its first token");
    Histogram& tpot =
        histogram("time_per_output_token_seconds", "Seconds between two tokens of a reply, on average over the reply");
    Histogram& queue = histogram("request_queue_time_seconds", "Seconds from a request's submission until it is run");
    Histogram& prefill =
        histogram("request_prefill_time_seconds", "Seconds from when a request is run until its prompt is read");
    Histogram& decode =
        histogram("request_decode_time_seconds", "Seconds from when a request's prompt is read until its reply ends");
    Histogram& latency =
        histogram("e2e_request_latency_seconds", "Seconds from a request's arrival until its reply ends");
    prometheus::Family<prometheus::Counter>& success =
        counter("request_success_total", "Requests for a reply that ended, by how (abort: the client left)");
    prometheus::Counter& prompt_tokens =
        counter("prompt_tokens_total", "Prompt tokens of the requests that ended, cached ones among them").Add(labels);
    prometheus::Counter& generation_tokens =
        counter("generation_tokens_total", "Tokens of the replies that ended").Add(labels);
};

ServerMetrics::ServerMetrics(const ReplySource& source, std::string model)
    : series_(std::make_unique<Series>(source, std::move(model))) {}

ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::record(const RequestResult& result, const std::string& finish_reason, double seconds) {
    Series& series = *series_;
    prometheus::Labels labels = series.labels;
    labels["finished_reason"] = finish_reason;
    series.success.Add(labels).Increment();
    series.prompt_tokens.Increment(static_cast<double>(result.prompt_tokens));
    series.generation_tokens.Increment(static_cast<double>(result.generated_tokens));
    series.queue.Observe(result.queue_seconds);
    series.prefill.Observe(result.prefill_seconds);
    series.decode.Observe(result.decode_seconds);
    series.latency.Observe(seconds);
    if (result.generated_tokens > 0) series.ttft.Observe(result.ttft_seconds);
    if (result.generated_tokens > 1) {
        series.tpot.Observe(result.decode_seconds / static_cast<double>(result.generated_tokens - 1));
    }
}

void ServerMetrics::record_abort() {
    prometheus::Labels labels = series_->labels;
    labels["finished_reason"] = "abort";
    series_->success.Add(labels).Increment();
}

std::string ServerMetrics::text() const {
    std::vector<MetricFamily> families = series_->engine.Collect();
    std::vector<MetricFamily> own = series_->registry.Collect();
    for (MetricFamily& family : own) {
        for (ClientMetric& metric : family.metric) {
            metric.histogram.sample_sum = to_millionths(metric.histogram.sample_sum);
        }
    }
    families.insert(families.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    return prometheus::TextSerializer().Serialize(families);
}

}  // namespace colugo
