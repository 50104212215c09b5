// colugo bench cache: what a prompt costs that was read before, from memory and, after a restart, from disk.
#include <fmt/format.h>

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>

#include "base/error.h"
#include "cli/bench_command.h"
#include "cli/bench_rows.h"
#include "cli/checkpoint_folder.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/model_loading.h"
#include "cli/progress_bar.h"
#include "cli/whole_number.h"
#include "engine/engine.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

class Finished : public RequestListener {
 public:
    void token(const DrawnToken&) override {}
    void finished(const RequestResult& finished_result) override { result = finished_result; }
    std::optional<RequestResult> result;
};

// A folder that is empty at first and gone at the end, with all that is in it.
class ScratchFolder {
 public:
    // Throws io where there cannot be one in `parent`, which is made where it is missing.
    explicit ScratchFolder(const std::string& parent) : path_(parent + "/colugo-bench-XXXXXX") {
        std::error_code error;
        std::filesystem::create_directories(parent, error);
        if (error) fail(ErrorCode::io, "cannot make the folder {}: {}", parent, error.message());
        if (mkdtemp(path_.data()) == nullptr) fail_errno("cannot make a folder in", parent);
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::string& path() const { return path_; }

 private:
    std::string path_;
};

class BenchCacheCommand {
 public:
    explicit BenchCacheCommand(CLI::App& app) : flags_(app) {
        app.add_option("-m,--model", model_, "A checkpoint folder, or nano")->type_name("DIR")->capture_default_str();
        flags_.add_threads(app);
        app.add_option("-p,--prompt", lengths_, "Tokens of the prompts; several separated by commas")
            ->delimiter(',')
            ->check(whole_number(1, 1 << 20))
            ->capture_default_str();
        app.add_option("--suffix", suffix_, "New tokens behind a prompt that was read before")
            ->check(whole_number(1, 1 << 16))
            ->capture_default_str();
        app.add_option("-r,--repetitions", repetitions_, "Of each test")
            ->check(whole_number(1, 1000))
            ->capture_default_str();
        add_row_format(app, format_);
        flags_.add_cache(app);
    }

    Outcome execute() {
        LaunchOptions launch = flags_.launch_options(checkpoint_folder(model_));
        const int64_t needed = *std::ranges::max_element(lengths_) + suffix_ + 1;
        const int64_t context = read_model_config(launch.model).max_position_embeddings;
        if (needed > context) {
            throw CLI::ValidationError(
                "--prompt",
                fmt::format("{} is too much: with a --suffix of {} the model's context has room for {} tokens",
                            needed - suffix_ - 1, suffix_, context - suffix_ - 1));
        }
        if (launch.ctx_size > 0 && launch.ctx_size < needed) {
            throw CLI::ValidationError(
                "--ctx-size",
                fmt::format("{} is less than the longest prompt, its suffix and a token take; expected 0, "
                            "for as much as that, or at least {}",
                            launch.ctx_size, needed));
        }
        launch.ctx_size = std::max(launch.ctx_size, needed);
        const std::unique_ptr<LoadedModel> model = load_model(launch);
        vocab_size_ = model->config().vocab_size;
        bar_ = std::make_unique<ProgressBar>("measuring");
        tests_ = lengths_.size() * static_cast<size_t>(repetitions_) * (on_disk() ? 3 : 2);
        for (const int64_t length : lengths_)
            tests_of_.push_back({.length = length, .prompts = {}, .cold = {}, .memory = {}, .disk = {}});
        Outcome outcome = Outcome::success;
        try {
            measure(*model);
        } catch (const Interrupted&) {
            outcome = Outcome::interrupted;
        }
        bar_->finish();
        print_rows(rows(*model), format_);
        return outcome;
    }

 private:
    struct Times {
        std::vector<double> seconds;                           // to the first token
        int64_t prompt = 0;                                    // tokens
        int64_t cached = std::numeric_limits<int64_t>::max();  // of these, the fewest of all repetitions
    };
    struct Tests {
        int64_t length;
        std::vector<std::vector<int32_t>> prompts;  // one for each repetition
        Times cold, memory, disk;
    };

    bool on_disk() const { return !flags_.engine_options().cache_disk.empty(); }

    // Throws Interrupted between two passes.
    void measure(LoadedModel& model) {
        Engine::Options options = flags_.engine_options();
        std::optional<ScratchFolder> scratch;
        if (on_disk()) options.cache_disk = scratch.emplace(options.cache_disk).path();
        const auto start = [&] { return Engine(model, TokenMask(model.config().vocab_size, true), options); };
        {
            Engine engine = start();
            for (Tests& tests : tests_of_) measure_memory(engine, tests);
        }
        if (on_disk()) {
            Engine engine = start();
            for (Tests& tests : tests_of_) measure_disk(engine, tests);
        }
    }

    void ask(Engine& engine, std::vector<int32_t> prompt, Times& times) {
        const auto listener = std::make_shared<Finished>();
        Request request;
        request.prompt = std::move(prompt);
        request.max_tokens = 1;
        engine.submit(std::move(request), listener);
        while (!listener->result) {
            if (interrupted()) throw Interrupted{};
            engine.step();
        }
        const RequestResult& result = *listener->result;
        if (result.error) throw Error(*result.error);
        times.seconds.push_back(result.ttft_seconds);
        times.cached = std::min(times.cached, result.cached_tokens);
        times.prompt = result.prompt_tokens;
        bar_->update(++done_, tests_);
    }

    std::vector<int32_t> tokens(int64_t count) {
        std::vector<int32_t> made(static_cast<size_t>(count));
        for (int32_t& token : made) token = static_cast<int32_t>(random_() % static_cast<uint64_t>(vocab_size_));
        return made;
    }

    std::vector<int32_t> with_suffix(std::vector<int32_t> prompt) {
        const std::vector<int32_t> suffix = tokens(suffix_);
        prompt.insert(prompt.end(), suffix.begin(), suffix.end());
        return prompt;
    }

    void measure_memory(Engine& engine, Tests& tests) {
        for (int i = 0; i < repetitions_; ++i) {
            tests.prompts.push_back(tokens(tests.length));
            ask(engine, tests.prompts.back(), tests.cold);
            ask(engine, with_suffix(tests.prompts.back()), tests.memory);
        }
    }

    // Of an engine that has only the disk.
    void measure_disk(Engine& engine, Tests& tests) {
        for (const std::vector<int32_t>& prompt : tests.prompts) {
            ask(engine, with_suffix(prompt), tests.disk);
        }
    }

    // Of what was measured as often as asked.
    std::vector<ordered_json> rows(const LoadedModel& model) const {
        std::vector<ordered_json> results;
        for (const Tests& tests : tests_of_) {
            const double cold = mean_deviation(tests.cold.seconds).mean;
            const auto add = [&](const char* from, const Times& times) {
                if (std::ssize(times.seconds) < repetitions_) return;
                const auto [mean, deviation] = mean_deviation(times.seconds);
                results.push_back({{"model", std::filesystem::path(model_).filename().string()},
                                   {"tier", kernels::tier_name(model.tier())},
                                   {"threads", model.threads()},
                                   {"kv_type", kv_type_name(model.kv_type())},
                                   {"prompt", times.prompt},
                                   {"cached", times.cached},
                                   {"from", from},
                                   {"ttft_ms", 1e3 * mean},
                                   {"ttft_ms_deviation", 1e3 * deviation},
                                   {"faster", cold / mean},
                                   {"seconds", times.seconds}});
            };
            add("nothing", tests.cold);
            add("memory", tests.memory);
            add("disk", tests.disk);
        }
        return results;
    }

    ModelFlags flags_;
    std::string model_ = "nano";
    std::vector<int64_t> lengths_ = {512, 4096};
    int64_t suffix_ = 32;
    int repetitions_ = 3;
    RowFormat format_ = RowFormat::markdown;
    std::unique_ptr<ProgressBar> bar_;
    size_t done_ = 0, tests_ = 0;
    std::vector<Tests> tests_of_;
    int64_t vocab_size_ = 0;
    std::mt19937 random_{5};
};

}  // namespace

Command add_bench_cache_command(CLI::App& bench) {
    CLI::App* app = bench.add_subcommand("cache", "Time the first token of prompts that were read before");
    auto command = std::make_shared<BenchCacheCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
