#include "engine/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/weight_list.h"
#include "model/qwen35.h"

namespace colugo {

namespace {

constexpr int64_t kShortContext = 1024;

// Bytes of logits, tokens and their counts that a sequence takes beside its state.
uint64_t sequence_workspace(const ModelConfig& config, int64_t ctx_size, const SpecParams& spec) {
    constexpr uint64_t kCounts = 16;  // bytes of TokenHistory for each id
    constexpr uint64_t kLookup = 24;  // bytes of LookupDrafter for each token
    const auto logit_rows = static_cast<uint64_t>(1 + 2 * spec.draft_rows());
    return static_cast<uint64_t>(config.vocab_size) * (logit_rows * sizeof(float) + kCounts) +
           static_cast<uint64_t>(ctx_size) * (sizeof(int32_t) + (spec.uses_lookup() ? kLookup : 0));
}

// Of a cache whose size was given: less than the least there can be, or more than there is.
[[noreturn]] void fail_cache_size(const MemoryPlan& plan, uint64_t available) {
    const uint64_t fixed = plan.weight_bytes + plan.workspace_bytes;
    fail(
        ErrorCode::resource_exhausted,
        "a cache of {} is asked for; expected from {}, which a context of {} tokens needs, to {}, which is what memory "
        "has beside the model",
        bytes_text(plan.cache_bytes), bytes_text(plan.least_cache_bytes(1)), plan.ctx_size,
        bytes_text(available - std::min(available, fixed)));
}

[[noreturn]] void fail_too_big(const MemoryPlan& plan, uint64_t available) {
    fail(ErrorCode::resource_exhausted,
         "a context of {} tokens for {} needs {} of memory (weights {}, pages and states {}, workspace {}) "
         "and {} are available; a smaller context, fewer sequences or a smaller model would fit",
         plan.ctx_size, plan.parallel == 1 ? "1 sequence" : fmt::format("{} sequences", plan.parallel),
         bytes_text(plan.total_bytes()), bytes_text(plan.weight_bytes), bytes_text(plan.cache_bytes),
         bytes_text(plan.workspace_bytes), bytes_text(available));
}

// The longest context that `sequences` can have at a time in `bytes`.
int64_t fitting_context(const MemoryPlan& plan, int sequences, uint64_t bytes) {
    const uint64_t states =
        plan.format.fixed_bytes() + static_cast<uint64_t>(sequences) * plan.format.sequence_bytes(0);
    const uint64_t page = plan.format.sequence_bytes(1) - plan.format.sequence_bytes(0);
    const uint64_t left = bytes - std::min(bytes, states);
    return static_cast<int64_t>(left / (page * static_cast<uint64_t>(sequences))) * kernels::kPage;
}

}  // namespace

int64_t MemoryPlan::cached_tokens() const {
    return fitting_context(*this, 1, cache_bytes);
}

ModelOptions model_options(const LaunchOptions& options, kernels::KvType kv_type) {
    const int draft_rows = options.parallel * options.spec.draft_rows();
    return {.kv_type = kv_type,
            .max_rows = options.max_rows + draft_rows,
            .max_draft_rows = draft_rows,
            .max_draft_sequences = draft_rows > 0 ? options.parallel : 0};
}

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
    const Qwen35 model(config, shapes, backend, model_options(options, kv_type));

    MemoryPlan plan;
    plan.ctx_size = options.ctx_size > 0 ? options.ctx_size : config.max_position_embeddings;
    plan.parallel = options.parallel;
    plan.format = state_format(model);
    plan.format.copy_page = {};
    plan.weight_bytes = report.memory_bytes;
    plan.workspace_bytes = model.workspace_bytes() + static_cast<uint64_t>(options.parallel) *
                                                         sequence_workspace(config, plan.ctx_size, options.spec);
    plan.cache_bytes = options.cache_bytes > 0 ? options.cache_bytes : plan.least_cache_bytes(plan.parallel);
    return plan;
}

void fit_memory(MemoryPlan& plan, const LaunchOptions& options, uint64_t available, std::vector<std::string>& notices) {
    const uint64_t fixed = plan.weight_bytes + plan.workspace_bytes;
    const uint64_t left = available - std::min(available, fixed);
    const bool sized = options.cache_bytes > 0;
    if (sized && plan.total_bytes() > available) fail_cache_size(plan, available);
    const uint64_t room = sized ? options.cache_bytes : left;
    const int sequences = sized ? 1 : plan.parallel;  // a given size is shared by as many as it holds
    if (plan.least_cache_bytes(sequences) > room) {
        if (sized && options.ctx_size > 0) fail_cache_size(plan, available);
        if (options.ctx_size > 0) fail_too_big(plan, available);
        const int64_t longest = plan.ctx_size;
        plan.ctx_size = std::max(fitting_context(plan, sequences, room), std::min(kShortContext, longest));
        if (!sized) plan.cache_bytes = plan.least_cache_bytes(sequences);
        if (sized && plan.least_cache_bytes(sequences) > room) fail_cache_size(plan, available);
        if (plan.least_cache_bytes(sequences) > room) fail_too_big(plan, available);
        notices.push_back(fmt::format("the context is {} tokens instead of the model's {}: more does not fit in {}",
                                      plan.ctx_size, longest, sized ? "the cache" : "memory"));
    }
    if (!sized && options.keep_prefixes) plan.cache_bytes = std::max(plan.cache_bytes, left / 2);
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
