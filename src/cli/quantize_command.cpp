// colugo quantize: a published checkpoint to NVFP4 or FP8.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/checkpoint_folder.h"
#include "cli/command.h"
#include "cli/conversations.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "cli/text_output.h"
#include "cli/whole_number.h"
#include "engine/machine.h"
#include "engine/memory_plan.h"
#include "quant/quantize.h"
#include "text/terminal_text.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

constexpr int kLongestSequence = 1024;  // tokens

std::string modules_table(const ordered_json& report) {
    std::string out = fmt::format("{:<58} {:<12} {:>10} {:>9} {:>9} {:>10} {:>10}\n", "module", "scheme", "bytes",
                                  "error", "by amax", "saturated", "input amax");
    for (const ordered_json& module : report["modules"]) {
        out += fmt::format("{:<58} {:<12} {:>10} {:>8.3f}% {:>8.3f}% {:>9.4f}% {:>10.3g}\n",
                           module["module"].get_ref<const std::string&>(),
                           module["scheme"].get_ref<const std::string&>(), bytes_text(module["bytes"].get<uint64_t>()),
                           100.0 * module["error"].get<double>(), 100.0 * module["amax_error"].get<double>(),
                           100.0 * module["saturated"].get<double>(), module["activation_amax"].get<double>());
    }
    for (const ordered_json& scale : report["cache"]) {
        out += fmt::format("{:<58} scale {:.4g}, largest {:.4g}\n", scale["tensor"].get_ref<const std::string&>(),
                           scale["scale"].get<double>(), scale["amax"].get<double>());
    }
    return out +
           fmt::format(
               "{} became {}. error: relative, of a module's output on rows of the calibration; by amax: the same "
               "with scales by largest magnitude; saturated: weights beyond the largest code\n",
               bytes_text(report["source_bytes"].get<uint64_t>()), bytes_text(report["bytes"].get<uint64_t>()));
}

std::string duration_text(double seconds) {
    if (seconds < 90.0) return fmt::format("{:.0f} s", seconds);
    if (seconds < 5400.0) return fmt::format("{:.0f} min", seconds / 60.0);
    return fmt::format("{:.1f} h", seconds / 3600.0);
}

std::string plan_text(const QuantizeEstimate& estimate, const QuantizeOptions& options) {
    const ordered_json& calibration = options.calibration_info;
    const auto cut = calibration["cut"].get<uint64_t>();
    return fmt::format("{}, {} to {}; calibrated with {} ({}{}) from {}; {} of scratch beside the result; about {}\n",
                       count_text(estimate.modules, "module"), bytes_text(estimate.source_bytes),
                       bytes_text(estimate.output_bytes), count_text(options.calibration.size(), "conversation"),
                       count_text(static_cast<uint64_t>(estimate.tokens), "token"),
                       cut > 0 ? fmt::format(", {} cut to {}", cut, kLongestSequence) : "",
                       calibration["from"].get_ref<const std::string&>(), bytes_text(estimate.scratch_bytes),
                       duration_text(estimate.seconds));
}

class QuantizeCommand {
 public:
    explicit QuantizeCommand(CLI::App& app) {
        app.add_option("source", source_,
                       "The checkpoint's folder, in bf16, f16 or f32, or a model that comes with colugo")
            ->type_name("DIR");
        app.add_option("destination", destination_, "The folder to make")->type_name("DIR");
        app.add_option("--recipe", recipe_, "nvfp4-w4a4, nvfp4-w4a16, fp8, or a TOML file (docs/quantization.md)")
            ->capture_default_str();
        app.add_option("--kv", kv_, "What keys and values are to be stored as: fp8, none (default: the recipe's)")
            ->check(CLI::IsMember({"fp8", "none"}));
        app.add_option("--calib", calibration_, "Conversations that calibrate, as JSON lines (default: a few built in)")
            ->type_name("FILE");
        app.add_option("--samples", samples_, "How many of them, evenly over the file; of each the first 1024 tokens")
            ->check(whole_number(1, 1 << 20))
            ->capture_default_str();
        app.add_option("--scales", scales_,
                       "How scales are chosen: searched by least error, or by amax as ModelOpt does")
            ->check(CLI::IsMember({"searched", "amax"}))
            ->capture_default_str();
        app.add_flag("--resume", resume_, "Go on with what a run that was cut off has left");
        app.add_option("-t,--threads", threads_, "Threads (0: as many as there are processors)")
            ->check(whole_number(0, 1024))
            ->capture_default_str();
        app.add_flag("--json", json_, "Print the report as one JSON object");
    }

    Outcome execute() const {
        if (source_.empty()) throw CLI::RequiredError("source");
        if (destination_.empty()) throw CLI::RequiredError("destination");
        const std::string source = checkpoint_folder(source_);
        QuantizeOptions options;
        options.source = source;
        options.destination = destination_;
        options.recipe = Recipe::named(recipe_);
        if (!kv_.empty()) options.recipe.set_kv(kv_);
        options.search = scales_ == "searched";
        options.resume = resume_;
        const ModelText text(source);
        Conversations calibration =
            read_conversations(calibration_, text, read_model_config(source), samples_, kLongestSequence);
        options.calibration = std::move(calibration.sequences);
        options.calibration_info = {{"from", calibration.name},
                                    {"records", calibration.records},
                                    {"used", options.calibration.size()},
                                    {"cut", calibration.cut}};
        ThreadPool threads(threads_ > 0 ? threads_ : usable_cpus());
        const auto start = std::chrono::steady_clock::now();
        const ordered_json report = run(options, threads);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        write_output(json_ ? report.dump(2) + "\n" : modules_table(report));
        write_note(fmt::format("{} written in {}, {:.3f} GB/s of the source, peak memory {}\n", destination_,
                               duration_text(seconds), report["source_bytes"].get<double>() * 1e-9 / seconds,
                               bytes_text(peak_memory())));
        return Outcome::success;
    }

 private:
    ordered_json run(const QuantizeOptions& options, ThreadPool& threads) const {
        std::optional<ProgressBar> bar;
        QuantizeCallbacks callbacks;
        callbacks.planned = [&](const QuantizeEstimate& estimate) {
            for (const std::string& notice : estimate.notices) {
                write_note(fmt::format("colugo: note: {}\n", on_one_line(notice)));
            }
            write_note(plan_text(estimate, options));
            bar.emplace("quantizing", ProgressBar::Rate::bytes);
        };
        callbacks.progress = [&](uint64_t done, uint64_t total) {
            if (interrupted()) throw Interrupted{};
            bar->update(done, total);
        };
        try {
            return quantize_checkpoint(options, callbacks, threads);
        } catch (const Interrupted&) {
            if (bar) bar->finish();
            write_note(fmt::format("colugo: interrupted; the same command with --resume goes on\n"));
            throw;
        }
    }

    std::string source_;
    std::string destination_;
    std::string recipe_ = "nvfp4-w4a4";
    std::string kv_;
    std::string calibration_;
    std::string scales_ = "searched";
    int samples_ = 64;
    int threads_ = 0;
    bool resume_ = false;
    bool json_ = false;
};

}  // namespace

Command add_quantize_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("quantize", "Quantize a checkpoint to NVFP4 or FP8");
    auto command = std::make_shared<QuantizeCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
