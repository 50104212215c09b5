// How the tokens of a reply are drawn: the same options for every command that generates.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/model_text.h"

namespace colugo {

class SamplingFlags {
 public:
    // Adds --temp, --top-k, --top-p, --min-p, --seed.
    void add(CLI::App& app);

    // What --seed says.
    std::optional<uint64_t> seed() const { return seed_; }
    // What is not given is the checkpoint's; a seed that is not given is made. Throws CLI::ValidationError.
    SamplingParams params(const ModelText& text, int64_t vocab_size) const;

 private:
    std::string command_;
    std::optional<double> temperature_, top_p_, min_p_;
    std::optional<int32_t> top_k_;
    std::optional<uint64_t> seed_;
};

}  // namespace colugo
