// colugo inspect: what a checkpoint holds and what it would take to run it, from its headers.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "backend/cpu/cpu_backend.h"
#include "cli/checkpoint_folder.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/text_output.h"
#include "engine/machine.h"
#include "engine/memory_plan.h"
#include "text/terminal_text.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

std::string_view weight_format_name(kernels::WeightFormat format) {
    switch (format) {
        case kernels::WeightFormat::f32:
            return "f32";
        case kernels::WeightFormat::bf16:
            return "bf16";
        case kernels::WeightFormat::fp8:
            return "fp8";
        case kernels::WeightFormat::fp8_block128:
            return "fp8_block128";
        case kernels::WeightFormat::nvfp4:
            return "nvfp4";
    }
    return "unknown";
}

std::string_view activation_format_name(kernels::ActivationFormat format) {
    switch (format) {
        case kernels::ActivationFormat::f32:
            return "f32";
        case kernels::ActivationFormat::bf16:
            return "bf16";
        case kernels::ActivationFormat::bf16_block16:
            return "bf16_block16";
        case kernels::ActivationFormat::fp8:
            return "fp8";
        case kernels::ActivationFormat::fp8_group128:
            return "fp8_group128";
        case kernels::ActivationFormat::int8:
            return "int8";
        case kernels::ActivationFormat::nvfp4:
            return "nvfp4";
    }
    return "unknown";
}

struct Inspection {
    ModelConfig config;
    LoadReport report;
    kernels::KvType kv_type;
    MemoryPlan plan;
    std::vector<std::string> notices;
};

Inspection inspect(const LaunchOptions& options) {
    Inspection found{
        .config = read_model_config(options.model), .report = {}, .kv_type = {}, .plan = {}, .notices = {}};
    const CheckpointFiles files(options.model);
    const QuantizationConfig quantization = read_quantization_config(options.model);
    found.report = plan_weights(files, found.config, quantization,
                                {.compute = options.compute, .with_mtp = options.with_mtp, .progress = {}});
    found.kv_type = choose_kv_type(options, found.report.kv_cache_algo);
    ThreadPool threads(1);
    CpuBackend backend(kernels::kernel_table(kernels::select_tier()), threads, options.compute);
    found.plan = plan_memory(found.config, found.report, found.kv_type, options, backend);
    found.notices.insert(found.notices.end(), found.report.notices.begin(), found.report.notices.end());
    return found;
}

int64_t attention_layers(const ModelConfig& config) {
    return std::count(config.layer_types.begin(), config.layer_types.end(), LayerType::full_attention);
}

ordered_json shape_json(const Inspection& found) {
    const ModelConfig& c = found.config;
    return {{"model_type", c.model_type},
            {"vocab_size", c.vocab_size},
            {"hidden_size", c.hidden_size},
            {"intermediate_size", c.intermediate_size},
            {"num_hidden_layers", c.num_hidden_layers},
            {"full_attention_layers", attention_layers(c)},
            {"num_attention_heads", c.num_attention_heads},
            {"num_key_value_heads", c.num_key_value_heads},
            {"head_dim", c.head_dim},
            {"linear_num_key_heads", c.linear_num_key_heads},
            {"linear_num_value_heads", c.linear_num_value_heads},
            {"linear_key_head_dim", c.linear_key_head_dim},
            {"linear_value_head_dim", c.linear_value_head_dim},
            {"max_position_embeddings", c.max_position_embeddings},
            {"tied_head", found.report.tied_head},
            {"mtp", found.report.has_mtp}};
}

ordered_json modules_json(const LoadReport& report) {
    ordered_json modules = ordered_json::array();
    for (const ModuleReport& module : report.modules) {
        modules.push_back({{"name", module.name},
                           {"shape", {module.n, module.k}},
                           {"scheme", weight_scheme_name(module.scheme)},
                           {"weights", weight_format_name(module.format)},
                           {"activations", activation_format_name(module.activation)},
                           {"file_bytes", module.file_bytes},
                           {"memory_bytes", module.packed_bytes}});
    }
    return modules;
}

ordered_json plan_json(const Inspection& found) {
    const MemoryPlan& plan = found.plan;
    return {{"ctx_size", plan.ctx_size},
            {"parallel", plan.parallel},
            {"kv_type", kv_type_name(found.kv_type)},
            {"weight_bytes", plan.weight_bytes},
            {"page_bytes", plan.format.page_bytes},
            {"pages", plan.pages()},
            {"kv_bytes", plan.kv_bytes()},
            {"state_bytes_per_sequence", plan.state_bytes()},
            {"snapshot_bytes", plan.format.snapshot_bytes()},
            {"workspace_bytes", plan.workspace_bytes},
            {"total_bytes", plan.total_bytes()},
            {"available_bytes", available_memory()}};
}

std::string shape_text(const Inspection& found) {
    const ModelConfig& c = found.config;
    std::string text = fmt::format("model        {}, {} layers ({} attention, {} gated delta net)\n", c.model_type,
                                   c.num_hidden_layers, attention_layers(c), c.num_hidden_layers - attention_layers(c));
    text += fmt::format("sizes        hidden {}, intermediate {}, vocabulary {}, context {}\n", c.hidden_size,
                        c.intermediate_size, c.vocab_size, c.max_position_embeddings);
    text += fmt::format("attention    {} heads, {} key/value heads of {}\n", c.num_attention_heads,
                        c.num_key_value_heads, c.head_dim);
    text += fmt::format("delta net    {} key heads of {}, {} value heads of {}\n", c.linear_num_key_heads,
                        c.linear_key_head_dim, c.linear_num_value_heads, c.linear_value_head_dim);
    text += fmt::format("head         {}\n", found.report.tied_head ? "the embedding" : "its own");
    return text + fmt::format("MTP head     {}\n\n", found.report.has_mtp ? "yes" : "no");
}

std::string modules_text(const LoadReport& report) {
    std::string text =
        fmt::format("{:<58} {:>15}  {:<15} {:>10} {:>10}\n", "module", "shape", "scheme", "file", "memory");
    for (const ModuleReport& module : report.modules) {
        text += fmt::format("{:<58} {:>15}  {:<15} {:>10} {:>10}\n", module.name,
                            fmt::format("{} x {}", module.n, module.k), weight_scheme_name(module.scheme),
                            bytes_text(module.file_bytes), bytes_text(module.packed_bytes));
    }
    return text + "\n";
}

std::string schemes_text(const LoadReport& report) {
    std::map<std::string, std::pair<int, uint64_t>> totals;
    for (const ModuleReport& module : report.modules) {
        auto& [count, bytes] = totals[std::string(weight_scheme_name(module.scheme))];
        ++count;
        bytes += module.packed_bytes;
    }
    std::string text;
    for (const auto& [scheme, total] : totals) {
        text += fmt::format("{:<15} {:>4} modules {:>10}\n", scheme, total.first, bytes_text(total.second));
    }
    return text + fmt::format("in all, {} of the files and {} in memory\n\n", bytes_text(report.file_bytes),
                              bytes_text(report.memory_bytes));
}

std::string plan_text(const Inspection& found) {
    const MemoryPlan& plan = found.plan;
    std::string text = fmt::format("memory for {} x {} tokens, keys and values in {}\n", plan.parallel, plan.ctx_size,
                                   kv_type_name(found.kv_type));
    text += fmt::format("  weights          {:>10}\n", bytes_text(plan.weight_bytes));
    text += fmt::format("  attention pages  {:>10}  ({} of {} bytes; the MTP head's are among them)\n",
                        bytes_text(plan.kv_bytes()), plan.pages(), plan.format.page_bytes);
    text += fmt::format("  states           {:>10}  ({} a sequence; a snapshot takes {})\n",
                        bytes_text(static_cast<uint64_t>(plan.parallel) * plan.state_bytes()),
                        bytes_text(plan.state_bytes()), bytes_text(plan.format.snapshot_bytes()));
    text += fmt::format("  workspace        {:>10}\n", bytes_text(plan.workspace_bytes));
    return text + fmt::format("  total            {:>10}  ({} available)\n", bytes_text(plan.total_bytes()),
                              bytes_text(available_memory()));
}

std::string notices_text(const Inspection& found) {
    std::string text;
    for (const std::string& notice : found.notices) text += fmt::format("note: {}\n", on_one_line(notice));
    if (!found.report.ignored.empty()) {
        text += fmt::format("not used: {} tensors: {}\n", found.report.ignored.size(),
                            fmt::join(found.report.ignored, ", "));
    }
    return text.empty() ? text : "\n" + text;
}

class InspectCommand {
 public:
    explicit InspectCommand(CLI::App& app) : flags_(app) {
        app.add_option("-m,--model,model", model_, "The checkpoint's folder, or a model that comes with colugo")
            ->type_name("DIR");
        flags_.add_parallel(app);
        CLI::Option* const json = app.add_flag("--json", json_, "Print one JSON object");
        app.add_flag("--summary", summary_, "Leave out the list of modules")->excludes(json);
    }

    Outcome execute() const {
        if (model_.empty()) throw CLI::RequiredError("model");
        const std::string model = checkpoint_folder(model_);
        LaunchOptions options = flags_.launch_options(model);
        options.with_mtp = true;
        const Inspection found = inspect(options);
        if (json_) {
            const ordered_json document = {{"shape", shape_json(found)},
                                           {"modules", modules_json(found.report)},
                                           {"file_bytes", found.report.file_bytes},
                                           {"memory", plan_json(found)},
                                           {"ignored", found.report.ignored},
                                           {"notices", found.notices}};
            write_output(document.dump(2) + "\n");
        } else {
            write_output(shape_text(found) + (summary_ ? "" : modules_text(found.report)) + schemes_text(found.report) +
                         plan_text(found) + notices_text(found));
        }
        return Outcome::success;
    }

 private:
    std::string model_;
    ModelFlags flags_;
    bool json_ = false, summary_ = false;
};

}  // namespace

Command add_inspect_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("inspect", "Show a checkpoint's shape, storage and memory plan");
    auto command = std::make_shared<InspectCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
