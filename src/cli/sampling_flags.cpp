#include "cli/sampling_flags.h"

#include <charconv>
#include <limits>

#include "base/error.h"
#include "cli/whole_number.h"
#include "sampling/sampler.h"

namespace colugo {

namespace {

// -1: none.
std::optional<uint64_t> parse_seed(const std::string& text) {
    if (text == "-1") return std::nullopt;
    uint64_t seed = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc() || stop != text.data() + text.size()) {
        throw CLI::ValidationError("--seed", text + " is not a whole number from 0 to 2^64 - 1, or -1");
    }
    return seed;
}

}  // namespace

void SamplingFlags::add(CLI::App& app) {
    command_ = app.get_name();
    app.add_option("--temp,--temperature", temperature_, "Temperature; 0 is greedy (default: the checkpoint's)");
    app.add_option("--top-k", top_k_, "Keep the k most likely tokens; 0 keeps all (default: the checkpoint's)")
        ->check(whole_number(0, std::numeric_limits<int32_t>::max()));
    app.add_option("--top-p", top_p_, "Keep the most likely tokens up to this probability (default: the checkpoint's)");
    app.add_option("--min-p", min_p_,
                   "Drop tokens below this share of the most likely one (default: the checkpoint's)");
    app.add_option_function<std::string>(
        "-s,--seed", [this](const std::string& text) { seed_ = parse_seed(text); },
        "Seed of the draws, below 2^64 (default -1: makes one and tells it)");
}

SamplingParams SamplingFlags::params(const ModelText& text, int64_t vocab_size) const {
    SamplingParams params = text.default_sampling();
    if (temperature_) params.temperature = *temperature_;
    if (top_k_) params.top_k = *top_k_;
    if (top_p_) params.top_p = *top_p_;
    if (min_p_) params.min_p = *min_p_;
    params.seed = seed_ ? *seed_ : make_seed();
    try {
        check_sampling_params(params, vocab_size);
    } catch (const Error& error) {
        throw CLI::ValidationError(command_, error.what());  // the checkpoint's own are checked where they are read
    }
    return params;
}

}  // namespace colugo
