#include "cli/model_flags.h"

#include <fmt/format.h>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "cli/text_output.h"
#include "cli/whole_number.h"
#include "text/terminal_text.h"

namespace colugo {

namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostParallel = 1024;
constexpr int kMostRows = 8192;
constexpr int64_t kMostContext = int64_t{1} << 31;
constexpr double kGib = 1 << 30;
constexpr double kMostGib = 1 << 20;

CLI::Validator gibibytes() {
    const auto check = [](std::string& text) -> std::string {
        const char* const end = text.data() + text.size();
        double value = -1.0;
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && stop == end && value >= 0.0 && value <= kMostGib) return {};
        return fmt::format("{} is not a number from 0 to {}", text, kMostGib);
    };
    return CLI::Validator(check, "GIB");
}

}  // namespace

ModelFlags::ModelFlags(CLI::App& app) {
    app.add_option("-c,--ctx-size", ctx_size_, "Longest context in tokens (0: the model's own, or what fits in memory)")
        ->check(whole_number(0, kMostContext))
        ->capture_default_str();
    app.add_option("--compute", compute_,
                   "What the inputs of products are rounded to: bf16, or f32 (not at all; slower)")
        ->check(CLI::IsMember({"bf16", "f32"}))
        ->capture_default_str();
    app.add_option("--kv-type", kv_type_, kKvTypeHelp)
        ->check(CLI::IsMember({"auto", "f32", "bf16", "fp8", "int8"}))
        ->capture_default_str();
}

void ModelFlags::add_threads(CLI::App& app) {
    app.add_option("-t,--threads", threads_, "Threads (0: as many as there are processors)")
        ->check(whole_number(0, kMostThreads))
        ->capture_default_str();
}

void ModelFlags::add_parallel(CLI::App& app) {
    app.add_option("--parallel", parallel_, "Sequences at a time, each with its own context (also -np)")
        ->check(whole_number(1, kMostParallel))
        ->capture_default_str();
}

void ModelFlags::add_ubatch_size(CLI::App& app) {
    app.add_option("--ubatch-size", ubatch_size_, "Prompt tokens of one pass (also -ub)")
        ->check(whole_number(1, kMostRows))
        ->capture_default_str();
}

void ModelFlags::add_spec(CLI::App& app) {
    app.add_option("--spec", spec_mode_,
                   "How tokens are drafted, several to a pass: off, mtp (the model's own head), lookup (what followed "
                   "where the text was the same), tree (both), auto (of both what pays); none changes the text")
        ->check(CLI::IsMember({"off", "mtp", "lookup", "tree", "auto"}))
        ->capture_default_str();
    app.add_option("--spec-depth", spec_.depth, "Drafts one after the other at most")
        ->check(whole_number(1, 16))
        ->capture_default_str();
    app.add_option("--spec-topk", spec_.top_k, "Drafts for one place that the head makes")
        ->check(whole_number(1, 8))
        ->capture_default_str();
    app.add_option("--spec-nodes", spec_.nodes, "Tokens that one pass verifies at most, drafts and the one before them")
        ->check(whole_number(2, 32))
        ->capture_default_str();
}

void ModelFlags::add_cache(CLI::App& app) {
    keep_prefixes_ = true;
    app.add_option("--cache-gib", cache_gib_,
                   "Memory for conversations and what is kept of them, in GiB (0: half of what is left)")
        ->check(gibibytes())
        ->capture_default_str();
    app.add_option("--cache-disk", cache_disk_,
                   "A folder for what memory has no room for, and for the next start (default: none)")
        ->type_name("DIR");
    app.add_option("--cache-disk-gib", cache_disk_gib_, "GiB of it at most")->check(gibibytes())->capture_default_str();
}

Engine::Options ModelFlags::engine_options() const {
    Engine::Options options;
    options.cache_disk = cache_disk_;
    options.cache_disk_bytes = static_cast<uint64_t>(cache_disk_gib_ * kGib);
    options.log = [](const std::string& sentence) {
        write_note(fmt::format("colugo: note: {}\n", on_one_line(sentence)));
    };
    return options;
}

LaunchOptions ModelFlags::launch_options(const std::string& model) const {
    LaunchOptions options;
    options.model = model;
    options.compute = compute_ == "f32" ? ComputeMode::f32 : ComputeMode::bf16;
    options.kv_type = find_kv_type(kv_type_);
    options.threads = threads_;
    options.ctx_size = ctx_size_;
    options.parallel = parallel_;
    options.max_rows = ubatch_size_;
    options.keep_prefixes = keep_prefixes_;
    options.spec = spec_;
    options.spec.mode = spec_mode(spec_mode_).value();
    options.cache_bytes = static_cast<uint64_t>(std::ceil(cache_gib_ * kGib));  // what is above 0 stays so
    return options;
}

}  // namespace colugo
