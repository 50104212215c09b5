#include "quant/quantize.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "quant/activation_scale.h"
#include "quant/checkpoint_writer.h"
#include "quant/module_quantizer.h"
#include "quant/nvfp4.h"
#include "quant/quantization_plan.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

// What one weight costs beside the calibration tokens, in multiply-adds: three products on the samples.
constexpr int64_t kTrialRows = 3 * ActivationStats::kMostSamples;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string layer_prefix(int64_t layer) {
    return fmt::format("model.layers.{}.", layer);
}

// A file that changed is another job's, whatever it holds.
ordered_json fingerprint(const CheckpointFiles& files) {
    std::set<std::string> paths;
    for (const auto& [name, tensor] : files.tensors()) paths.insert(tensor.file->path());
    ordered_json out = ordered_json::object();
    for (const std::string& path : paths) {
        struct stat status {};
        if (stat(path.c_str(), &status) != 0) fail_errno("read", path);
        out[std::filesystem::path(path).filename().string()] = {status.st_size, status.st_mtim.tv_sec,
                                                                status.st_mtim.tv_nsec};
    }
    return out;
}

std::string token_hash(const TokenSequences& sequences) {
    XXH3_state_t* state = XXH3_createState();
    XXH3_64bits_reset(state);
    for (const std::vector<int32_t>& tokens : sequences) {
        const uint64_t count = tokens.size();
        XXH3_64bits_update(state, &count, sizeof count);
        XXH3_64bits_update(state, tokens.data(), tokens.size() * sizeof(int32_t));
    }
    const uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return fmt::format("{:016x}", hash);
}

ordered_json module_json(const ModulePlan& plan, const ModuleResult& result) {
    uint64_t bytes = 0;
    for (const OutputTensor& tensor : module_tensors(plan)) bytes += tensor.bytes();
    return {{"module", plan.file_name},
            {"scheme", recipe_word(plan.algo)},
            {"n", plan.n},
            {"k", plan.k},
            {"source_bytes", plan.source.record->length},
            {"bytes", bytes},
            {"weight_amax", result.amax},
            {"weight_scale", result.weight_scale},
            {"activation_amax", result.activation_amax},
            {"input_scale", result.input_scale},
            {"saturated", result.saturated},
            {"weight_error", result.weight_error},
            {"error", result.error},
            {"amax_error", result.amax_error}};
}

// Scales from what is not finite would be none, and a model that gets there is not worth quantizing.
void require_finite(const ActivationStats* stats, const std::string& what) {
    if (stats == nullptr || stats->finite()) return;
    fail(ErrorCode::invalid_file,
         "calibration gives {} values that are not finite, or squares that are not: expected the weights of a trained "
         "model",
         what);
}

// One run, from the plan to the published folder.
class Quantization {
 public:
    Quantization(const QuantizeOptions& options, const QuantizeCallbacks& callbacks, ThreadPool& threads);
    ordered_json run();

 private:
    double estimate_seconds();
    ordered_json job() const;
    std::string part_of(const ModulePlan& plan) const;
    uint64_t bytes_of(const std::string& part) const;
    void report_progress(double share_of_part);
    void finish(const std::string& step, const std::string& part, const ordered_json& record);
    ActivationStats* inputs_of(const ModulePlan& plan);
    std::vector<std::vector<const ModulePlan*>> fused_modules(const std::string& part);
    ordered_json quantize_part(const std::string& part, double begin);
    ordered_json write_cache_scales(const std::string& attention);
    Calibration::Progress calibration_progress();
    void run_layer(int64_t layer);
    void run_end();
    void copy_tensors();
    void write_files(const ordered_json& report);
    ordered_json report() const;

    const QuantizeOptions& options_;
    const QuantizeCallbacks& callbacks_;
    ThreadPool& threads_;
    ModelConfig config_;
    CheckpointFiles files_;
    QuantizationConfig source_quantization_;
    QuantizationPlan plan_;
    WeightLoader loader_;
    RecordingBackend backend_;
    int64_t tokens_;
    std::unique_ptr<CheckpointWriter> writer_;
    std::unique_ptr<Calibration> calibration_;
    uint64_t total_bytes_ = 0;
    uint64_t done_bytes_ = 0;
    uint64_t part_bytes_ = 0;  // of the part at work
};

Quantization::Quantization(const QuantizeOptions& options, const QuantizeCallbacks& callbacks, ThreadPool& threads)
    : options_(options),
      callbacks_(callbacks),
      threads_(threads),
      config_(read_model_config(options.source)),
      files_(options.source),
      source_quantization_(read_quantization_config(options.source)),
      plan_(plan_quantization(files_, config_, source_quantization_, options.recipe)),
      loader_(files_, config_, source_quantization_, {}),
      backend_(kernels::kernel_table(kernels::select_tier()), threads, ComputeMode::bf16),
      tokens_(count_tokens(options.calibration)) {
    COLUGO_CHECK(tokens_ > 0);
    for (const ModulePlan& module : plan_.modules) total_bytes_ += module.source.record->length;
    for (const CopiedTensor& tensor : plan_.copied) total_bytes_ += tensor.source.record->length;
}

// A part is what is loaded and calibrated together: a layer, or the end with MTP head and lm_head.
std::string Quantization::part_of(const ModulePlan& plan) const {
    constexpr std::string_view kLayers = "model.layers.";
    if (!plan.module.starts_with(kLayers)) return "end";
    return plan.module.substr(0, plan.module.find('.', kLayers.size()) + 1);
}

uint64_t Quantization::bytes_of(const std::string& part) const {
    uint64_t bytes = 0;
    for (const ModulePlan& module : plan_.modules) {
        if (part_of(module) == part) bytes += module.source.record->length;
    }
    return bytes;
}

// From the rates of a product and of a search for scales, each tried once.
double Quantization::estimate_seconds() {
    constexpr int kRows = 128, kN = 1024;
    const int k = static_cast<int>((config_.hidden_size + 63) / 64 * 64);
    std::vector<float> values(static_cast<size_t>(std::max(kN, kRows)) * static_cast<size_t>(k), 0.5f);
    Buffer packed(kernels::packed_bytes(kernels::WeightFormat::bf16, kN, k));
    kernels::PackedWeight weight{.data = packed.data(), .n = kN, .k = k};
    weight.format = kernels::WeightFormat::bf16;
    weight.activation = kernels::ActivationFormat::bf16;
    std::vector<float> out(size_t{kRows} * kN);
    const LinearCall call[] = {{&weight, TensorView(out.data(), kRows, kN)}};
    backend_.linear(call, TensorView(values.data(), kRows, k));  // memory in place
    auto start = std::chrono::steady_clock::now();
    backend_.linear(call, TensorView(values.data(), kRows, k));
    const double product = seconds_since(start) / (double{kRows} * kN * k);

    const std::vector<float> ones(static_cast<size_t>(k), 1.0f);
    start = std::chrono::steady_clock::now();
    threads_.parallel_for(kN, [&](int row, int) {
        std::vector<uint8_t> scales(static_cast<size_t>(k) / kNvfp4Block);
        const auto first = static_cast<size_t>(row) * static_cast<size_t>(k);
        nvfp4_searched_scales(backend_.table(), scales, std::span(values).subspan(first, static_cast<size_t>(k)), ones,
                              1e-3f);
    });
    const double search = 2.0 * seconds_since(start) / (double{kN} * k);  // codes and files are as much again
    double seconds = 0.0;
    for (const ModulePlan& module : plan_.modules) {
        const int64_t rows =
            kTrialRows + (module.module == "lm_head" ? 0 : tokens_);  // calibration ends before the head
        seconds += static_cast<double>(module.n) * module.k * (product * static_cast<double>(rows) + search);
    }
    return seconds;
}

// All that the bytes of the result depend on.
ordered_json Quantization::job() const {
    return {{"format", 1},
            {"source", fingerprint(files_)},
            {"config_json", plan_.source_config},
            {"recipe", options_.recipe.json()},
            {"calibration", options_.calibration_info},
            {"calibration_tokens", token_hash(options_.calibration)},
            {"shard_bytes", options_.shard_bytes},
            {"search", options_.search},
            {"tier", kernels::tier_name(backend_.table().tier)}};
}

void Quantization::report_progress(double share_of_part) {
    if (!callbacks_.progress) return;
    const auto part = static_cast<uint64_t>(share_of_part * static_cast<double>(part_bytes_));
    callbacks_.progress(done_bytes_ + part, total_bytes_);
}

void Quantization::finish(const std::string& step, const std::string& part, const ordered_json& record) {
    writer_->finish_step(step, record);
    done_bytes_ += bytes_of(part);
}

Calibration::Progress Quantization::calibration_progress() {
    return [this](int64_t tokens) {
        report_progress(static_cast<double>(tokens) / static_cast<double>(tokens_ + kTrialRows));
    };
}

ActivationStats* Quantization::inputs_of(const ModulePlan& plan) {
    if (plan.module == "lm_head") return &calibration_->head_inputs();
    return backend_.inputs(&loader_.linear(plan.module).packed);
}

// The part's modules, those together that are given the same and become the same NVFP4: q, k and v; gate and up.
std::vector<std::vector<const ModulePlan*>> Quantization::fused_modules(const std::string& part) {
    std::vector<std::vector<const ModulePlan*>> groups;
    for (const ModulePlan& plan : plan_.modules) {
        if (part_of(plan) != part) continue;
        const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& members) {
            const ModulePlan& first = *members.front();
            return plan.algo != QuantAlgo::fp8 && first.algo == plan.algo && inputs_of(plan) != nullptr &&
                   inputs_of(first) == inputs_of(plan);
        });
        if (group != groups.end()) {
            group->push_back(&plan);
        } else {
            groups.push_back({&plan});
        }
    }
    return groups;
}

// begin: the share of the part that is done.
ordered_json Quantization::quantize_part(const std::string& part, double begin) {
    backend_.pause();
    ModuleQuantizer quantizer(backend_, threads_, *writer_, options_.search);
    ordered_json modules = ordered_json::array();
    uint64_t done = 0;
    for (const std::vector<const ModulePlan*>& fused : fused_modules(part)) {
        require_finite(inputs_of(*fused.front()), fused.front()->file_name);
        const std::vector<ModuleResult> results = quantizer.quantize(fused, inputs_of(*fused.front()));
        for (size_t i = 0; i < fused.size(); ++i) {
            modules.push_back(module_json(*fused[i], results[i]));
            done += fused[i]->source.record->length;
        }
        report_progress(begin + (1.0 - begin) * static_cast<double>(done) / static_cast<double>(part_bytes_));
    }
    return modules;
}

// Of the attention layer that has just been calibrated; nothing where the recipe leaves the cache alone.
ordered_json Quantization::write_cache_scales(const std::string& attention) {
    ordered_json out = ordered_json::array();
    for (const CacheScalePlan& plan : plan_.cache_scales) {
        if (plan.attention != attention) continue;
        const auto write = [&](const std::string& tensor, ActivationStats* stats) {
            require_finite(stats, tensor);
            const float scale =
                stats != nullptr ? fp8_cache_scale(stats->samples(), stats->amax(), !options_.search) : 1.0f;
            writer_->write(tensor, 0, std::as_bytes(std::span(&scale, 1)));
            out.push_back({{"tensor", tensor}, {"amax", stats != nullptr ? stats->amax() : 0.0f}, {"scale", scale}});
        };
        write(plan.k_scale, backend_.keys());
        write(plan.v_scale, backend_.values());
    }
    return out;
}

void Quantization::run_layer(int64_t layer) {
    const std::string part = layer_prefix(layer);
    part_bytes_ = bytes_of(part);
    loader_.load(part, threads_);
    calibration_->run_layer(layer, loader_.weights().layers[static_cast<size_t>(layer)], calibration_progress());
    loader_.unload(part);
    const ordered_json cache = write_cache_scales(part + "self_attn");
    const double calibrated = static_cast<double>(tokens_) / static_cast<double>(tokens_ + kTrialRows);
    finish("layer " + std::to_string(layer), part, {{"modules", quantize_part(part, calibrated)}, {"cache", cache}});
}

void Quantization::run_end() {
    part_bytes_ = bytes_of("end");
    const bool has_mtp = loader_.report().has_mtp;
    loader_.load("model.norm.", threads_);
    if (has_mtp) loader_.load("mtp.", threads_);
    const ModelWeights& weights = loader_.weights();
    calibration_->run_end(weights.norm, has_mtp ? &*weights.mtp : nullptr, loader_.stored("model.embed_tokens"),
                          calibration_progress());
    if (has_mtp) loader_.unload("mtp.");
    const ordered_json cache = write_cache_scales("mtp.layers.0.self_attn");
    finish("end", "end", {{"modules", quantize_part("end", 0.5)}, {"cache", cache}});
}

void Quantization::copy_tensors() {
    constexpr uint64_t kPiece = uint64_t{16} << 20;
    part_bytes_ = 0;
    for (const CopiedTensor& tensor : plan_.copied) {
        const std::span<const std::byte> bytes = tensor.source.bytes();
        for (uint64_t begin = 0; begin < bytes.size(); begin += kPiece) {
            const uint64_t count = std::min<uint64_t>(kPiece, bytes.size() - begin);
            require_finite(tensor.source, begin, count);
            writer_->write(tensor.name, begin, bytes.subspan(begin, count));
            tensor.source.file->drop(*tensor.source.record, begin, count);
            done_bytes_ += count;
            report_progress(0.0);
        }
    }
    writer_->finish_step("copied", ordered_json::object());
}

ordered_json Quantization::report() const {
    ordered_json modules = ordered_json::array(), cache = ordered_json::array();
    const auto add = [&](const std::string& step) {
        const ordered_json& record = writer_->record(step);
        modules.insert(modules.end(), record["modules"].begin(), record["modules"].end());
        cache.insert(cache.end(), record["cache"].begin(), record["cache"].end());
    };
    for (int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) add("layer " + std::to_string(layer));
    add("end");
    return {{"recipe", options_.recipe.json()},
            {"scales", options_.search ? "searched" : "amax"},
            {"calibration", options_.calibration_info},
            {"calibration_tokens", tokens_},
            {"source_bytes", plan_.source_bytes},
            {"bytes", plan_.output_bytes},
            {"modules", std::move(modules)},
            {"cache", std::move(cache)}};
}

// The source's other files as they are; of weights and configuration, ours.
void Quantization::write_files(const ordered_json& report) {
    namespace fs = std::filesystem;
    constexpr uint64_t kMostBytes = uint64_t{512} << 20;
    const std::set<std::string> carried = {".json", ".jinja", ".txt", ".model", ".md", ""};
    const std::set<std::string> ours = {"config.json", "hf_quant_config.json", "quantization_report.json"};
    std::set<fs::path> paths;  // sorted: the same order every time
    for (const fs::directory_entry& entry : fs::directory_iterator(options_.source)) paths.insert(entry.path());
    for (const fs::path& path : paths) {
        const std::string name = path.filename().string();
        if (!fs::is_regular_file(path) || name.starts_with('.') || ours.contains(name) ||
            name.ends_with(".safetensors.index.json") || !carried.contains(path.extension().string())) {
            continue;
        }
        writer_->write_file(name, read_text_file(path.string(), kMostBytes).value());
    }
    writer_->write_file("config.json", plan_.config_json().dump(2) + "\n");
    writer_->write_file("hf_quant_config.json", plan_.hf_quant_config().dump(2) + "\n");
    writer_->write_file("quantization_report.json", report.dump(1) + "\n");
}

ordered_json Quantization::run() {
    QuantizeEstimate estimate;
    estimate.modules = plan_.modules.size();
    estimate.tokens = tokens_;
    estimate.source_bytes = plan_.source_bytes;
    estimate.output_bytes = plan_.output_bytes;
    estimate.scratch_bytes = calibration_disk_bytes(config_, options_.calibration);
    estimate.seconds = estimate_seconds();
    estimate.notices = plan_.notices;
    writer_ = std::make_unique<CheckpointWriter>(options_.destination, plan_.outputs, options_.shard_bytes, job(),
                                                 options_.resume, estimate.scratch_bytes);
    if (callbacks_.planned) callbacks_.planned(estimate);
    if (writer_->already_complete()) {
        const std::string path = options_.destination + "/quantization_report.json";
        return ordered_json::parse(read_text_file(path, uint64_t{64} << 20).value());
    }
    calibration_ =
        std::make_unique<Calibration>(config_, options_.calibration, backend_, writer_->scratch_path("stream"));
    if (!writer_->done("embedded")) {
        calibration_->embed(loader_.stored("model.embed_tokens"));
        writer_->finish_step("embedded", ordered_json::object());
    }
    for (int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
        if (writer_->done("layer " + std::to_string(layer))) {
            done_bytes_ += bytes_of(layer_prefix(layer));
        } else {
            run_layer(layer);
        }
    }
    if (writer_->done("end")) {
        done_bytes_ += bytes_of("end");
    } else {
        run_end();
    }
    if (!writer_->done("copied")) copy_tensors();
    ordered_json result = report();
    write_files(result);
    writer_->publish();
    return result;
}

}  // namespace

ordered_json quantize_checkpoint(const QuantizeOptions& options, const QuantizeCallbacks& callbacks,
                                 ThreadPool& threads) {
    return Quantization(options, callbacks, threads).run();
}

}  // namespace colugo
