// colugo bench decode, colugo bench prefill: tokens a second of the model alone, on the axes of llama-bench. Tokens are
// random; the context they lie behind has been read.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/bench_command.h"
#include "cli/bench_rows.h"
#include "cli/checkpoint_folder.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/model_loading.h"
#include "cli/progress_bar.h"
#include "cli/whole_number.h"
#include "engine/model_bench.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

constexpr int64_t kMostPositions = 1 << 20;

class BenchSpeedCommand {
 public:
    enum class Kind { prefill, decode };

    BenchSpeedCommand(CLI::App& app, Kind kind) : kind_(kind) {
        app.add_option("-m,--model", model_, "A checkpoint folder, or nano")->type_name("DIR")->capture_default_str();
        add_list(app, "-t,--threads", threads_, "Threads (0: as many as there are processors)", whole_number(0, 1024));
        add_list(app, "--kv-type", kv_types_, kKvTypeHelp, CLI::IsMember({"auto", "f32", "bf16", "fp8", "int8"}));
        add_list(app, "-d,--depth", depths_, "Tokens of context that were read before",
                 whole_number(0, kMostPositions));
        if (kind == Kind::prefill) {
            add_list(app, "-p,--prompt", sizes_, "Tokens that are read", whole_number(1, kMostPositions));
            app.add_option("-u,--ubatch-size", chunk_, "Tokens of a pass at most")
                ->check(whole_number(1, 1 << 16))
                ->capture_default_str();
        } else {
            sizes_ = {64};
            add_list(app, "-n,--tokens", sizes_, "Passes that are made, one behind the other",
                     whole_number(1, kMostPositions));
            add_list(app, "--rows", rows_, "Rows of a pass: a token, and drafts behind it",
                     whole_number(1, kMaxDraftRows));
        }
        app.add_option("-r,--repetitions", repetitions_, "Of each test")
            ->check(whole_number(1, 1000))
            ->capture_default_str();
        add_row_format(app, format_);
    }

    Outcome execute() {
        const std::string folder = checkpoint_folder(model_);
        check_lengths(read_model_config(folder).max_position_embeddings);
        const size_t tests = threads_.size() * kv_types_.size() * depths_.size() * sizes_.size() * rows_.size();
        ProgressBar bar("measuring");
        const auto progress = [&] { bar.update(results_.size(), tests); };
        Outcome outcome = Outcome::success;
        try {
            for (const std::string& kv_type : kv_types_) {
                for (const int threads : threads_) measure(launch_options(folder, kv_type, threads), progress);
            }
        } catch (const Interrupted&) {
            outcome = Outcome::interrupted;
        }
        bar.finish();
        print_rows(results_, format_);
        return outcome;
    }

 private:
    template <typename T, typename Check>
    static void add_list(CLI::App& app, const std::string& names, std::vector<T>& values, const std::string& what,
                         const Check& check) {
        app.add_option(names, values, what + "; several separated by commas")
            ->delimiter(',')
            ->check(check)
            ->capture_default_str();
    }

    int64_t longest() const {
        return *std::ranges::max_element(depths_) + *std::ranges::max_element(sizes_) + kMaxDraftRows;
    }

    void check_lengths(int64_t context) const {
        if (longest() <= context) return;
        const int64_t depth = *std::ranges::max_element(depths_);
        throw CLI::ValidationError(
            kind_ == Kind::prefill ? "--prompt" : "--tokens",
            fmt::format("{}{} is too much: the model's context has room for {} tokens in all",
                        *std::ranges::max_element(sizes_),
                        depth > 0 ? fmt::format(" behind a --depth of {}", depth) : "", context - kMaxDraftRows));
    }

    LaunchOptions launch_options(const std::string& folder, const std::string& kv_type, int threads) const {
        LaunchOptions options;
        options.model = folder;
        options.kv_type = find_kv_type(kv_type);
        options.threads = threads;
        options.ctx_size = longest();
        options.max_rows = chunk_;
        if (*std::ranges::max_element(rows_) > 1) {
            options.spec = {.mode = SpecMode::lookup, .nodes = kMaxDraftRows};
        }
        return options;
    }

    // Appends a row for each test. Throws Interrupted between two passes.
    template <typename Progress>
    void measure(const LaunchOptions& launch, const Progress& progress) {
        const std::unique_ptr<LoadedModel> model = load_model(launch);
        ModelBench bench(*model, longest(), [] {
            if (interrupted()) throw Interrupted{};
        });
        for (const int64_t depth : depths_) {
            bench.read_context(depth);
            for (const int64_t size : sizes_) {
                for (const int rows : rows_) {
                    progress();
                    results_.push_back(test(*model, bench, depth, size, rows));
                }
            }
        }
    }

    // Once to warm up, then as often as asked.
    ordered_json test(LoadedModel& model, ModelBench& bench, int64_t depth, int64_t size, int rows) const {
        std::vector<double> seconds, speeds;
        for (int round = 0; round <= repetitions_; ++round) {
            const double taken = kind_ == Kind::prefill ? bench.prefill(size) : bench.decode(size, rows);
            if (round == 0) continue;
            seconds.push_back(taken);
            speeds.push_back(static_cast<double>(size * rows) / taken);
        }
        std::string name = kind_ == Kind::prefill ? fmt::format("pp{}", size) : fmt::format("tg{}", size);
        if (rows > 1) name += fmt::format(" x{}", rows);
        if (depth > 0) name += fmt::format(" @ d{}", depth);
        const auto [mean, deviation] = mean_deviation(speeds);
        return {{"model", std::filesystem::path(model_).filename().string()},
                {"tier", kernels::tier_name(model.tier())},
                {"threads", model.threads()},
                {"kv_type", kv_type_name(model.kv_type())},
                {"test", name},
                {"tok_s", mean},
                {"tok_s_deviation", deviation},
                {"seconds", seconds}};
    }

    Kind kind_;
    std::string model_ = "nano";
    std::vector<int> threads_ = {0};
    std::vector<std::string> kv_types_ = {"auto"};
    std::vector<int64_t> depths_ = {0};
    std::vector<int64_t> sizes_ = {512};
    std::vector<int> rows_ = {1};
    int chunk_ = 512;
    int repetitions_ = 5;
    RowFormat format_ = RowFormat::markdown;
    std::vector<ordered_json> results_;
};

Command add_command(CLI::App& bench, const std::string& name, const std::string& what, BenchSpeedCommand::Kind kind) {
    CLI::App* app = bench.add_subcommand(name, what);
    auto command = std::make_shared<BenchSpeedCommand>(*app, kind);
    return {app, [command] { return command->execute(); }};
}

}  // namespace

Command add_bench_decode_command(CLI::App& bench) {
    return add_command(bench, "decode", "Time passes that decode", BenchSpeedCommand::Kind::decode);
}

Command add_bench_prefill_command(CLI::App& bench) {
    return add_command(bench, "prefill", "Time the reading of prompts", BenchSpeedCommand::Kind::prefill);
}

}  // namespace colugo
