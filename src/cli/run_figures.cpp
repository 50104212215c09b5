#include "cli/run_figures.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/machine.h"

namespace colugo {

std::string RunFigures::line() const {
    std::string text =
        fmt::format("prompt {} tokens, {:.1f} tok/s", result.prompt_tokens, result.prefill_tokens_per_second());
    text += fmt::format("; decode {} tokens, {:.2f} tok/s, {:.2f} GB/s", result.decoded_tokens(),
                        result.decode_tokens_per_second(), result.decode_bytes_per_second() * 1e-9);
    if (const SpecCounters& drafts = result.drafts; drafts.passes > 0) {
        text += fmt::format("; {} passes, {} of {} drafts accepted", result.decode_passes, drafts.all.accepted,
                            drafts.all.drafted);
    }
    text += fmt::format("; {} new tokens, {}", result.generated_tokens, finish_reason_name(result.finish));
    if (seed) text += fmt::format("; seed {}", *seed);
    return text;
}

std::string RunFigures::json(const LoadedModel& model) const {
    nlohmann::ordered_json figures = {
        {"prompt_tokens", result.prompt_tokens},
        {"prefill_seconds", result.prefill_seconds},
        {"prefill_tokens_per_second", result.prefill_tokens_per_second()},
        {"ttft_seconds", result.ttft_seconds},
        {"generated_tokens", result.generated_tokens},
        {"decode_tokens", result.decoded_tokens()},
        {"decode_passes", result.decode_passes},
        {"drafts", drafts_json(result.drafts)},
        {"decode_seconds", result.decode_seconds},
        {"decode_tokens_per_second", result.decode_tokens_per_second()},
        {"weight_bytes_per_pass", result.weight_bytes_per_pass},
        {"decode_bytes_per_second", result.decode_bytes_per_second()},
        {"finish_reason", finish_reason_name(result.finish)},
        {"seed", nullptr},
        {"load_seconds", load_seconds},
        {"peak_rss_bytes", peak_memory()},
        {"tier", kernels::tier_name(model.tier())},
        {"threads", model.threads()},
        {"kv_type", kv_type_name(model.kv_type())},
        {"ctx_size", model.plan().ctx_size},
    };
    if (seed) figures["seed"] = *seed;
    return figures.dump();
}

}  // namespace colugo
