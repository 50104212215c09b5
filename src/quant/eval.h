// How well a checkpoint predicts a text, and how far another one's predictions are from its own.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "quant/calibration.h"

namespace colugo {

struct EvalOptions {
    std::string checkpoint;
    std::string against;       // empty: no other
    TokenSequences sequences;  // every token but a sequence's first is predicted
    int64_t num_ids = 0;       // ids below it have a token; the vocabulary's rest is padding and is left out
    std::optional<kernels::KvType> kv_type;  // absent: fp8 where a checkpoint declares it, else bf16
};

// Tokens dealt with, of all models; one that throws ends the evaluation.
using EvalProgress = std::function<void(uint64_t done, uint64_t total)>;

// {"tokens", "perplexity", "nll"}, and with another checkpoint the same of it, "kl" of its prediction from the first
// one's (nats), "top1_agreement"; each mean as {"mean", "low", "high"}: a 95 % interval over sequences. At any time one
// model and the heads of both are in memory. Throws what loading throws, and invalid_argument when the two do not have
// the same vocabulary.
nlohmann::ordered_json evaluate(const EvalOptions& options, const EvalProgress& progress, ThreadPool& threads);

}  // namespace colugo
