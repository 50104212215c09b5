// A whole pass at a real shape: decode against the read bandwidth, prefill at several depths with its split. The
// context at depth is simulated: pages hold random values instead of a prompt's keys, which changes no operation's
// work.
//
// model_benchmark --model DIR [--threads N] [--compute bf16|f32] [--kv-type f32|bf16|fp8|int8] [--prefill N]
//                 [--decode N] [--depths 0,4096,16384] [--rounds N] [--mtp] [--json FILE]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "benchmarks/probes.h"
#include "benchmarks/timed_backend.h"
#include "checkpoint/weights.h"
#include "model/qwen35.h"
#include "spec/pass_cost.h"
#include "spec/token_groups.h"

namespace colugo {
namespace {

using kernels::KvType;
using Seconds = std::chrono::duration<double>;

struct Options {
    std::string model;
    int threads = 2;
    ComputeMode compute = ComputeMode::bf16;
    KvType kv_type = KvType::bf16;
    int prefill = 512;
    int decode = 16;
    std::vector<int> depths = {0, 4096, 16384};
    int rounds = 5;
    bool mtp = false;
    std::string json_path;
};

struct PassTime {
    double seconds = 0;
    std::array<double, TimedBackend::kParts> parts{};
};

PassTime median(std::vector<PassTime> passes) {
    std::sort(passes.begin(), passes.end(), [](const PassTime& a, const PassTime& b) { return a.seconds < b.seconds; });
    return passes[passes.size() / 2];
}

class Benchmark {
 public:
    explicit Benchmark(const Options& options)
        : options_(options),
          config_(read_model_config(options.model)),
          pool_(options.threads),
          backend_(kernels::kernel_table(kernels::select_tier()), pool_, options.compute),
          loaded_(load_weights(CheckpointFiles(options.model), config_, read_quantization_config(options.model),
                               {.compute = options.compute, .with_mtp = options.mtp, .progress = {}}, pool_)),
          model_(config_, loaded_.weights, backend_,
                 {.kv_type = options.kv_type,
                  .max_rows = std::max(32, options.prefill),
                  .max_draft_rows = options.mtp ? kMaxDraftRows : 0,
                  .max_draft_sequences = options.mtp ? 1 : 0}),
          logits_(static_cast<size_t>(32 * config_.vocab_size) * sizeof(float)) {}

    uint64_t weight_bytes() const {
        uint64_t bytes = 0;
        for (const ModuleReport& module : loaded_.report.modules) {
            // An embedding that is no head is read a row at a time.
            const bool lookup = module.name.ends_with("embed_tokens") && !loaded_.report.tied_head;
            if (!lookup) bytes += module.packed_bytes;
        }
        return bytes;
    }
    // Multiply-adds of the linear layers for one row, the head left out.
    double linear_macs() const {
        double macs = 0;
        for (const ModuleReport& module : loaded_.report.modules) {
            const bool vocabulary = module.name.ends_with("embed_tokens") || module.name.ends_with("lm_head");
            if (!vocabulary) macs += static_cast<double>(module.n) * module.k;
        }
        return macs;
    }

    // One pass of `rows` tokens at `depth`, and the logits of the last `logit_rows` of them.
    PassTime pass(int depth, int rows, int logit_rows) {
        sequence_.length = depth;
        std::vector<int32_t> tokens(static_cast<size_t>(rows));
        for (int32_t& token : tokens)
            token = static_cast<int32_t>(random_() % static_cast<uint32_t>(config_.vocab_size));
        std::vector<int32_t> wanted;
        for (int row = rows - logit_rows; row < rows; ++row) wanted.push_back(row);
        const SequenceRows batch[] = {{&sequence_, tokens}};
        backend_.clear();
        const auto begin = std::chrono::steady_clock::now();
        model_.forward(batch);
        model_.logits(TensorView(logits_.as<float>(), logit_rows, config_.vocab_size), wanted);
        PassTime time;
        time.seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
        for (int part = 0; part < TimedBackend::kParts; ++part) {
            time.parts[static_cast<size_t>(part)] = backend_.seconds(static_cast<TimedBackend::Part>(part));
        }
        return time;
    }

    void run() {
        fmt::print("tier {}, {} threads, {}, weights read a pass {:.1f} MB\n",
                   kernels::tier_name(backend_.table().tier), options_.threads, options_.model,
                   static_cast<double>(weight_bytes()) * 1e-6);
        take_pages();
        pass(0, std::max(32, options_.prefill), 1);  // memory in place
        nlohmann::ordered_json json = {{"tier", kernels::tier_name(backend_.table().tier)},
                                       {"threads", options_.threads}};
        json["decode"] = decode();
        if (options_.mtp) json["drafts"] = drafts(json["decode"][0]["seconds"]);
        for (const int depth : options_.depths) json["prefill"].push_back(prefill(depth));
        if (!options_.json_path.empty()) std::ofstream(options_.json_path) << json.dump(1) << "\n";
    }

 private:
    nlohmann::ordered_json decode() {
        nlohmann::ordered_json json;
        fmt::print("\n{:>5} {:>10} {:>10} {:>8} {:>8} {:>10} {:>10}\n", "rows", "ms/pass", "tok/s", "GB/s", "probe",
                   "of probe", "cost");
        double one_row = 0;
        for (const int rows : {1, 2, 4, 8, 16, 32}) {
            std::vector<PassTime> passes;
            std::vector<double> probes;
            for (int round = 0; round < std::max(options_.decode, options_.rounds); ++round) {
                probes.push_back(read_bandwidth(pool_));
                passes.push_back(pass(0, rows, rows));
            }
            std::sort(probes.begin(), probes.end());
            const double probe = probes[probes.size() / 2];
            const PassTime time = median(passes);
            const double seconds = time.seconds;
            if (rows == 1) one_row = seconds;
            const double rate = static_cast<double>(weight_bytes()) / seconds;
            fmt::print("{:>5} {:>10.2f} {:>10.1f} {:>8.2f} {:>8.2f} {:>9.0f}% {:>10.2f} ", rows, seconds * 1e3,
                       rows / seconds, rate * 1e-9, probe * 1e-9, 100 * rate / probe, seconds / one_row);
            nlohmann::ordered_json line = {
                {"rows", rows}, {"seconds", seconds}, {"bytes_per_s", rate}, {"probe_bytes_per_s", probe}};
            report_parts(time, line);
            fmt::print("\n");
            json.push_back(std::move(line));
        }
        return json;
    }

    // Levels of drafts by the MTP head, in passes of one row: with products over the whole vocabulary, over its
    // frequent tokens, and over these and what a conversation has seen.
    nlohmann::ordered_json drafts(double pass_seconds) {
        constexpr int32_t kSeen = 4000;  // tokens, at random
        TokenGroups all(config_.vocab_size), frequent(config_.vocab_size), seen(config_.vocab_size);
        for (int32_t token = 0; token < config_.vocab_size; token += kernels::kPanel) all.add(token);
        frequent.add_frequent();
        seen.add_frequent();
        for (int32_t i = 0; i < kSeen; ++i) {
            seen.add(static_cast<int32_t>(random_() % static_cast<uint32_t>(config_.vocab_size)));
        }
        nlohmann::ordered_json json = nlohmann::ordered_json::array();
        fmt::print("\n{:>5} {:>10} {:>12} {:>10}  a level of drafts\n", "rows", "tokens", "ms", "passes");
        for (const TokenGroups* set : {&all, &frequent, &seen}) {
            std::vector<int32_t> groups;
            set->list(groups);
            for (const int rows : {1, 2, 4}) {
                const double seconds = time_draft_level(model_, rows, groups);
                const size_t tokens = groups.size() * kernels::kPanel;
                fmt::print("{:>5} {:>10} {:>12.2f} {:>10.3f}\n", rows, tokens, seconds * 1e3, seconds / pass_seconds);
                json.push_back(
                    {{"rows", rows}, {"tokens", tokens}, {"seconds", seconds}, {"passes", seconds / pass_seconds}});
            }
        }
        return json;
    }

    nlohmann::ordered_json prefill(int depth) {
        std::vector<PassTime> passes;
        std::vector<double> probes;
        for (int round = 0; round < options_.rounds; ++round) {
            probes.push_back(multiply_add_rate(pool_));
            passes.push_back(pass(depth, options_.prefill, 1));
        }
        std::sort(probes.begin(), probes.end());
        const double probe = probes[probes.size() / 2];
        const PassTime time = median(passes);
        const double macs = linear_macs() * options_.prefill / time.parts[TimedBackend::kMatmul];
        fmt::print("\nprefill {} at {}: {:.1f} tok/s, {:.0f} ms:", options_.prefill, depth,
                   options_.prefill / time.seconds, time.seconds * 1e3);
        nlohmann::ordered_json json = {{"depth", depth}, {"tokens", options_.prefill}, {"seconds", time.seconds}};
        report_parts(time, json);
        fmt::print("; matmul {:.0f} GMAC/s, {:.0f}% of the fp32 multiply-add probe\n", macs * 1e-9, 100 * macs / probe);
        json["matmul_macs_per_s"] = macs;
        json["probe_macs_per_s"] = probe;
        return json;
    }

    // The pages of the deepest pass, those that stand for a prompt filled.
    void take_pages() {
        const int deepest = options_.depths.empty() ? 0 : *std::ranges::max_element(options_.depths);
        const auto page_bytes = static_cast<size_t>(model_.page_layout().page_bytes);
        const auto count = static_cast<size_t>((deepest + std::max(32, options_.prefill)) / kernels::kPage + 1);
        pages_ = Buffer(count * page_bytes);
        for (size_t page = 0; page < count; ++page) {
            sequence_.pages.push_back(pages_.data() + page * page_bytes);
            fill(sequence_.pages.back());
        }
    }

    static void report_parts(const PassTime& time, nlohmann::ordered_json& json) {
        static constexpr const char* kNames[] = {"matmul", "attention", "gdn", "rest"};
        for (size_t part = 0; part < time.parts.size(); ++part) {
            fmt::print(" {} {:.0f}%", kNames[part], 100 * time.parts[part] / time.seconds);
            json[kNames[part]] = time.parts[part];
        }
    }

    // Keys and values of unit variance, as a prompt's are: what is far from it takes other time.
    void fill(std::byte* page) {
        const auto dim = static_cast<size_t>(config_.head_dim);
        const size_t tile_bytes = kernels::kv_tile_bytes(options_.kv_type, static_cast<int>(dim));
        if (vectors_.empty()) {
            std::normal_distribution<float> normal;
            for (size_t i = 0; i < kVectors * dim; ++i) vectors_.push_back(normal(random_));
        }
        const auto vector = [&] { return vectors_.data() + random_() % kVectors * dim; };
        const auto fill_slice = [&](const KvSlice& slice) {
            for (int64_t head = 0; head < config_.num_key_value_heads; ++head) {
                std::byte* keys = page + slice.key_offset + static_cast<size_t>(head) * tile_bytes;
                std::byte* values = page + slice.value_offset + static_cast<size_t>(head) * tile_bytes;
                for (int column = 0; column < kernels::kPage; ++column) {
                    backend_.table().store_kv(options_.kv_type, keys, values, column, vector(), vector(),
                                              static_cast<int>(dim), slice.key_scale, slice.value_scale);
                }
            }
        };
        for (const KvSlice& slice : model_.page_layout().trunk) fill_slice(slice);
        if (loaded_.weights.mtp) fill_slice(model_.page_layout().mtp);
    }

    static constexpr size_t kVectors = 512;

    Options options_;
    ModelConfig config_;
    ThreadPool pool_;
    TimedBackend backend_;
    LoadedWeights loaded_;
    Qwen35 model_;
    Buffer logits_;
    Buffer pages_;
    SequenceBuffers buffers_{model_.recurrent_layout()};
    SequenceState sequence_ = buffers_.start();
    std::mt19937 random_{3};
    std::vector<float> vectors_;  // [kVectors, head_dim]
};

}  // namespace
}  // namespace colugo

int main(int argc, char** argv) {
    using colugo::ComputeMode;
    using colugo::kernels::KvType;
    colugo::Options options;
    CLI::App app("Times whole passes of a model.");
    std::string compute = "bf16", kv_type = "bf16";
    app.add_option("--model", options.model, "A checkpoint folder")->required();
    app.add_option("--threads", options.threads)->capture_default_str();
    app.add_option("--compute", compute)->check(CLI::IsMember({"bf16", "f32"}))->capture_default_str();
    app.add_option("--kv-type", kv_type, "Keys and values")
        ->check(CLI::IsMember({"bf16", "f32", "fp8", "int8"}))
        ->capture_default_str();
    app.add_option("--prefill", options.prefill, "Tokens of a prefill pass")->capture_default_str();
    app.add_option("--decode", options.decode, "Decode passes for each number of rows")->capture_default_str();
    app.add_option("--depths", options.depths, "Positions before the prefill, separated by commas")->delimiter(',');
    app.add_option("--rounds", options.rounds, "Of which the median counts")->capture_default_str();
    app.add_flag("--mtp", options.mtp, "With the MTP head: its part of each pass, and what its drafts cost");
    app.add_option("--json", options.json_path, "Write the figures to this file");
    CLI11_PARSE(app, argc, argv);
    if (compute == "f32") options.compute = ComputeMode::f32;
    if (kv_type == "f32") options.kv_type = KvType::f32;
    if (kv_type == "fp8") options.kv_type = KvType::fp8;
    if (kv_type == "int8") options.kv_type = KvType::int8;
    try {
        colugo::Benchmark(options).run();
    } catch (const colugo::Error& error) {
        fmt::print(stderr, "model_benchmark: {}\n", error.what());
        return 1;
    }
    return 0;
}
