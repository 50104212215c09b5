// How long a stream waits for its next token, quiet and while a long prompt is read beside it; and what a snapshot
// costs to go on from, in decoding steps. Or, with a folder for the cache, quiet and while snapshots are written there.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/engine.h"

namespace colugo {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    std::string model, json_path, cache_disk;
    int64_t prompt = 20000;
    int64_t quiet_tokens = 60;
    int threads = 2;
};

class Stream : public RequestListener {
 public:
    void token(const DrawnToken&) override {
        const Clock::time_point now = Clock::now();
        if (tokens_++ > 0) gaps_.push_back(std::chrono::duration<double>(now - last_).count());
        last_ = now;
    }
    void finished(const RequestResult& result) override { result_ = result; }

    int64_t tokens() const { return tokens_; }
    bool done() const { return result_.has_value(); }
    const RequestResult& result() const { return *result_; }
    // Of the gaps since the last call.
    std::vector<double> take_gaps() { return std::exchange(gaps_, {}); }

 private:
    int64_t tokens_ = 0;
    Clock::time_point last_;
    std::vector<double> gaps_;
    std::optional<RequestResult> result_;
};

// Page faults and switches to another process, of all threads since they began.
struct Troubles {
    Troubles() {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        faults = usage.ru_minflt + usage.ru_majflt;
        switches = usage.ru_nivcsw;
    }
    int64_t faults = 0, switches = 0;
};

double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

class Latency {
 public:
    static constexpr size_t kWritingSteps = 500;

    explicit Latency(const Options& options) : options_(options) {
        LaunchOptions launch;
        launch.model = options.model;
        launch.threads = options.threads;
        launch.parallel = 2;
        launch.ctx_size = options.prompt + 4096;
        // Beside a stream, the disk's worker writes when memory runs short.
        launch.keep_prefixes = options.cache_disk.empty();
        model_ = std::make_unique<LoadedModel>(launch);
        Engine::Options engine_options;
        engine_options.cache_disk = options.cache_disk;
        engine_options.cache_disk_bytes = uint64_t{1} << 34;
        engine_ = std::make_unique<Engine>(*model_, TokenMask(model_->config().vocab_size, true), engine_options);
    }

    void run() {
        const std::shared_ptr<Stream> stream = submit(prompt(100), 4000);
        while (stream->tokens() < 20) engine_->step();
        stream->take_gaps();
        if (!options_.cache_disk.empty()) return run_beside_disk(*stream);
        while (stream->tokens() < 20 + options_.quiet_tokens) engine_->step();
        const std::vector<double> quiet = stream->take_gaps();

        std::vector<int32_t> long_prompt = prompt(options_.prompt);
        const auto start = Clock::now();
        const std::shared_ptr<Stream> reader = submit(long_prompt, 1);
        while (!reader->done() && !stream->done()) step_and_watch();
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        const std::vector<double> beside = stream->take_gaps();
        const double restore = restore_seconds(long_prompt);
        report(quiet, beside, seconds, restore, reader->done());
    }

 private:
    std::vector<int32_t> prompt(int64_t length) {
        std::vector<int32_t> tokens(static_cast<size_t>(length));
        for (int32_t& token : tokens) {
            token = static_cast<int32_t>(random_() % static_cast<uint32_t>(model_->config().vocab_size));
        }
        return tokens;
    }
    std::shared_ptr<Stream> submit(std::vector<int32_t> tokens, int64_t new_tokens) {
        Request request;
        request.prompt = std::move(tokens);
        request.max_tokens = new_tokens;
        auto stream = std::make_shared<Stream>();
        engine_->submit(std::move(request), stream);
        return stream;
    }

    // Keeps what the slowest step was about.
    void step_and_watch() {
        const EngineMetrics before = engine_->metrics();
        const Troubles troubles;
        engine_->step();
        const EngineMetrics now = engine_->metrics();
        const double seconds = now.step_seconds - before.step_seconds;
        if (seconds <= slowest_seconds_) return;
        const Troubles since;
        slowest_seconds_ = seconds;
        slowest_ = fmt::format(
            "{} rows of the prompt after {}, {} snapshots, {} evictions, {} page faults, {} switches",
            now.prefill_rows - before.prefill_rows, before.prefill_rows,
            now.cache.snapshots_taken - before.cache.snapshots_taken, now.cache.evictions - before.cache.evictions,
            since.faults - troubles.faults, since.switches - troubles.switches);
    }

    // The stream alone, in turns while snapshots of prompts are written and while none are.
    void run_beside_disk(Stream& stream) {
        std::vector<double> quiet, writing;
        while (writing.size() < kWritingSteps && !stream.done()) {
            const std::shared_ptr<Stream> reader = submit(prompt(options_.prompt), 1);
            while (!reader->done()) engine_->step();
            stream.take_gaps();
            for (int64_t idle = 0; idle < options_.quiet_tokens && !stream.done();) {
                engine_->step();
                const bool at_work = engine_->metrics().disk_at_work;
                for (const double gap : stream.take_gaps()) (at_work ? writing : quiet).push_back(gap);
                idle = at_work ? 0 : idle + 1;
            }
        }
        if (quiet.empty() || writing.empty())
            fail(ErrorCode::invalid_argument, "the disk was never at work, or always");
        const auto print = [&](const char* what, const std::vector<double>& gaps) {
            fmt::print("{}: {:.1f} ms between tokens (median of {}), {:.1f} ms at 99 %, {:.1f} ms at most\n", what,
                       1e3 * quantile(gaps, 0.5), gaps.size(), 1e3 * quantile(gaps, 0.99), 1e3 * quantile(gaps, 1.0));
        };
        print("quiet", quiet);
        print(fmt::format("while {} snapshots were written", engine_->metrics().disk.writes).c_str(), writing);
        fmt::print("writing delays a step by {:.1f} ms (median), {:.1f} ms at 99 %\n",
                   1e3 * (quantile(writing, 0.5) - quantile(quiet, 0.5)),
                   1e3 * (quantile(writing, 0.99) - quantile(quiet, 0.99)));
    }

    // From submission to the first token of a prompt that was read before, less a decoding step for its last token.
    double restore_seconds(const std::vector<int32_t>& tokens) {
        while (engine_->step()) {
        }
        std::vector<double> all, step;
        for (int round = 0; round < 7; ++round) {
            const std::shared_ptr<Stream> again = submit(tokens, 4);
            while (!again->done()) engine_->step();
            COLUGO_CHECK(again->result().cached_tokens + 1 == static_cast<int64_t>(tokens.size()));
            all.push_back(again->result().ttft_seconds);
            for (const double gap : again->take_gaps()) step.push_back(gap);
        }
        deep_step_ = quantile(step, 0.5);
        return quantile(all, 0.5) - deep_step_;
    }

    void report(const std::vector<double>& quiet, const std::vector<double>& beside, double seconds, double restore,
                bool read) {
        const double base = quantile(quiet, 0.5);
        fmt::print("quiet: {:.1f} ms between tokens (median of {}), {:.1f} ms at 99 %\n", 1e3 * base, quiet.size(),
                   1e3 * quantile(quiet, 0.99));
        fmt::print(
            "beside a prompt of {} tokens{}: {:.1f} ms median ({:.2f} x), {:.1f} ms at 99 % ({:.2f} x), {:.1f} ms "
            "at most ({:.2f} x), {} tokens in {:.0f} s\n",
            options_.prompt, read ? "" : " (not read to its end)", 1e3 * quantile(beside, 0.5),
            quantile(beside, 0.5) / base, 1e3 * quantile(beside, 0.99), quantile(beside, 0.99) / base,
            1e3 * quantile(beside, 1.0), quantile(beside, 1.0) / base, beside.size(), seconds);
        fmt::print("the slowest step, of {:.1f} ms: {}\n", 1e3 * slowest_seconds_, slowest_);
        fmt::print("going on from a snapshot at {}: {:.1f} ms, {:.2f} decoding steps of {:.1f} ms\n",
                   options_.prompt - 1, 1e3 * restore, restore / deep_step_, 1e3 * deep_step_);
        if (options_.json_path.empty()) return;
        const nlohmann::ordered_json json = {{"quiet_median_s", base},
                                             {"beside_median_s", quantile(beside, 0.5)},
                                             {"beside_p99_s", quantile(beside, 0.99)},
                                             {"beside_most_s", quantile(beside, 1.0)},
                                             {"prompt_seconds", seconds},
                                             {"restore_s", restore},
                                             {"deep_step_s", deep_step_}};
        std::ofstream(options_.json_path) << json.dump(1) << "\n";
    }

    Options options_;
    std::unique_ptr<LoadedModel> model_;
    std::unique_ptr<Engine> engine_;
    std::mt19937 random_{7};
    double deep_step_ = 0.0;
    double slowest_seconds_ = 0.0;
    std::string slowest_;
};

}  // namespace
}  // namespace colugo

int main(int argc, char** argv) {
    colugo::Options options;
    CLI::App app("Times a stream's tokens beside a long prompt.");
    app.add_option("--model", options.model, "A checkpoint folder")->required();
    app.add_option("--prompt", options.prompt, "Tokens of the long prompt")->capture_default_str();
    app.add_option("--quiet-tokens", options.quiet_tokens)->capture_default_str();
    app.add_option("--threads", options.threads)->capture_default_str();
    app.add_option("--cache-disk", options.cache_disk,
                   "Measure while snapshots of such prompts are written to this folder instead");
    app.add_option("--json", options.json_path, "Write the figures to this file");
    CLI11_PARSE(app, argc, argv);
    try {
        colugo::Latency(options).run();
    } catch (const colugo::Error& error) {
        fmt::print(stderr, "latency_benchmark: {}\n", error.what());
        return 1;
    }
    return 0;
}
