#include "engine/memory_plan.h"

#include <algorithm>

#include "checkpoint/weight_list.h"
#include "model/qwen35.h"

namespace colugo {

namespace {

constexpr int64_t kShortContext = 1024;

int64_t pages_for(int64_t ctx_size, int parallel) {
    return (ctx_size + kernels::kPage - 1) / kernels::kPage * parallel;
}

[[noreturn]] void fail_too_big(const MemoryPlan& plan, uint64_t available) {
    fail(ErrorCode::resource_exhausted,
         "a context of {} tokens for {} sequences needs {} of memory (weights {}, attention pages {}, states {}, "
         "workspace {}) and {} are available; a smaller context, fewer sequences or a smaller model would fit",
         plan.ctx_size, plan.parallel, bytes_text(plan.total_bytes()), bytes_text(plan.weight_bytes),
         bytes_text(plan.kv_bytes()), bytes_text(static_cast<uint64_t>(plan.parallel) * plan.state_bytes),
         bytes_text(plan.workspace_bytes), bytes_text(available));
}

}  // namespace

MemoryPlan plan_memory(const ModelConfig& config, const LoadReport& report, kernels::KvType kv_type,
                       const LaunchOptions& options, Backend& backend) {
    if (options.ctx_size < 0 || options.ctx_size > config.max_position_embeddings) {
        fail(ErrorCode::invalid_argument,
             "a context of {} tokens is outside of what the model was made for: 1 to {} (0 takes the longest)",
             options.ctx_size, config.max_position_embeddings);
    }
    // A model without values has the sizes of one with them, and takes no memory until it runs.
    ModelWeights shapes;
    list_weights(shapes, config, !report.tied_head, report.has_mtp);
    const Qwen35 model(config, shapes, backend, {.kv_type = kv_type, .max_rows = options.max_rows});
    const SequenceState sequence(config);

    MemoryPlan plan;
    plan.ctx_size = options.ctx_size > 0 ? options.ctx_size : config.max_position_embeddings;
    plan.parallel = options.parallel;
    plan.page_bytes = model.page_layout().page_bytes;
    plan.pages = pages_for(plan.ctx_size, plan.parallel);
    plan.weight_bytes = report.memory_bytes;
    plan.state_bytes = sequence.bytes();
    plan.workspace_bytes =
        model.workspace_bytes() + static_cast<uint64_t>(config.vocab_size * options.parallel) * sizeof(float);
    return plan;
}

void fit_memory(MemoryPlan& plan, const LaunchOptions& options, uint64_t available, std::vector<std::string>& notices) {
    if (plan.total_bytes() <= available) return;
    if (options.ctx_size > 0) fail_too_big(plan, available);
    const uint64_t fixed = plan.total_bytes() - plan.kv_bytes();
    const uint64_t left = available - std::min(available, fixed);
    const auto per_page_row = static_cast<uint64_t>(plan.page_bytes * plan.parallel);
    const auto fitting = static_cast<int64_t>(left / per_page_row) * kernels::kPage;
    const int64_t longest = plan.ctx_size;
    plan.ctx_size = std::max(fitting, std::min(kShortContext, longest));
    plan.pages = pages_for(plan.ctx_size, plan.parallel);
    if (plan.total_bytes() > available) fail_too_big(plan, available);
    notices.push_back(fmt::format("the context is {} tokens instead of the model's {}: more does not fit in memory",
                                  plan.ctx_size, longest));
}

std::string bytes_text(uint64_t bytes) {
    const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < std::size(units)) {
        value /= 1024.0;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", value, unit == 0 || value >= 100.0 ? 0 : (value >= 10.0 ? 1 : 2), units[unit]);
}

}  // namespace colugo
