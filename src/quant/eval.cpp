#include "quant/eval.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "model/qwen35.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr int kRows = 256;     // of one pass
constexpr int kLogitRows = 8;  // at a time

// The hidden states of all tokens that are followed by another, and the head they go through.
struct Predictions {
    std::string name;
    LinearWeight head;
    int64_t vocab_size = 0;
    int64_t hidden_size = 0;
    Buffer memory;
    float* hidden(int64_t token) const { return memory.as<float>() + token * hidden_size; }
};

int64_t predicted_tokens(const TokenSequences& sequences) {
    int64_t count = 0;
    for (const std::vector<int32_t>& tokens : sequences) count += static_cast<int64_t>(tokens.size()) - 1;
    return count;
}

// A mean with a 95 % interval. Tokens of one sequence depend on each other, so sequences are what varies.
class ClusteredMean {
 public:
    void add(double value) {
        sum_ += value;
        ++count_;
    }
    void end_sequence() {
        sums_.push_back(sum_);
        counts_.push_back(count_);
        sum_ = 0.0;
        count_ = 0.0;
    }
    double mean() const { return total(sums_) / total(counts_); }
    double half_width() const {
        double variance = 0.0;
        for (size_t i = 0; i < sums_.size(); ++i) {
            const double residual = sums_[i] - mean() * counts_[i];
            variance += residual * residual;
        }
        const auto sequences = static_cast<double>(sums_.size());
        if (sequences < 2.0) return std::numeric_limits<double>::quiet_NaN();
        return 1.96 * std::sqrt(variance * sequences / (sequences - 1.0)) / total(counts_);
    }
    ordered_json json() const {
        return {{"mean", mean()}, {"low", mean() - half_width()}, {"high", mean() + half_width()}};
    }

 private:
    static double total(const std::vector<double>& values) {
        double sum = 0.0;
        for (const double value : values) sum += value;
        return sum;
    }
    double sum_ = 0.0, count_ = 0.0;
    std::vector<double> sums_, counts_;  // of each sequence
};

// Feeds one sequence and keeps the hidden states before its last token.
class Runner {
 public:
    Runner(const ModelConfig& config, Qwen35& model) : config_(config), model_(model) {}

    void run(const std::vector<int32_t>& tokens, float* hidden, const std::function<void(uint64_t)>& done) {
        const SequenceBuffers buffers(model_.recurrent_layout());
        SequenceState sequence = buffers.start();
        const auto page_bytes = static_cast<size_t>(model_.page_layout().page_bytes);
        const size_t pages = tokens.size() / kernels::kPage + 1;
        const Buffer memory(pages * page_bytes);
        for (size_t page = 0; page < pages; ++page) sequence.pages.push_back(memory.data() + page * page_bytes);
        const std::span<const int32_t> fed = std::span(tokens).first(tokens.size() - 1);
        for (size_t begin = 0; begin < fed.size(); begin += kRows) {
            const size_t count = std::min<size_t>(kRows, fed.size() - begin);
            const SequenceRows batch[] = {{&sequence, fed.subspan(begin, count)}};
            model_.forward(batch);
            for (size_t row = 0; row < count; ++row, hidden += config_.hidden_size) {
                std::copy_n(model_.hidden(static_cast<int32_t>(row)), config_.hidden_size, hidden);
            }
            done(count);
        }
    }

 private:
    const ModelConfig& config_;
    Qwen35& model_;
};

Predictions predict(const std::string& directory, const EvalOptions& options, CpuBackend& backend, ThreadPool& threads,
                    const std::function<void(uint64_t)>& done) {
    const ModelConfig config = read_model_config(directory);
    for (const std::vector<int32_t>& tokens : options.sequences) {
        const int32_t largest = *std::max_element(tokens.begin(), tokens.end());
        if (largest < config.vocab_size) continue;
        fail(ErrorCode::invalid_argument, "{} has {} tokens in its vocabulary; the text has the id {}", directory,
             config.vocab_size, largest);
    }
    LoadedWeights loaded = load_weights(CheckpointFiles(directory), config, read_quantization_config(directory),
                                        {.with_mtp = false}, threads);
    const bool fp8_cache = loaded.report.kv_cache_algo == "FP8";
    const kernels::KvType kv_type = options.kv_type.value_or(fp8_cache ? kernels::KvType::fp8 : kernels::KvType::bf16);
    Qwen35 model(config, loaded.weights, backend, {.kv_type = kv_type, .max_rows = kRows});
    Predictions out;
    out.name = directory;
    out.vocab_size = config.vocab_size;
    out.hidden_size = config.hidden_size;
    out.memory = Buffer(static_cast<size_t>(predicted_tokens(options.sequences) * config.hidden_size) * sizeof(float));
    Runner runner(config, model);
    int64_t token = 0;
    for (const std::vector<int32_t>& tokens : options.sequences) {
        runner.run(tokens, out.hidden(token), done);
        token += static_cast<int64_t>(tokens.size()) - 1;
    }
    out.head = std::move(loaded.weights.lm_head ? *loaded.weights.lm_head : loaded.weights.embed_tokens);
    return out;
}

// Of some tokens, [count, vocab_size], of which the first num_ids of each row.
void log_probabilities(std::vector<float>& out, const Predictions& model, int64_t first, int64_t count, int64_t num_ids,
                       CpuBackend& backend, ThreadPool& threads) {
    out.resize(static_cast<size_t>(count * model.vocab_size));
    const LinearCall call[] = {{&model.head.packed, TensorView(out.data(), count, model.vocab_size)}};
    backend.linear(call, TensorView(model.hidden(first), count, model.hidden_size));
    threads.parallel_for(static_cast<int>(count), [&](int row, int) {
        const std::span<float> logits =
            std::span(out).subspan(static_cast<size_t>(row * model.vocab_size), static_cast<size_t>(num_ids));
        const float most = *std::max_element(logits.begin(), logits.end());
        double sum = 0.0;
        for (const float logit : logits) sum += std::exp(static_cast<double>(logit - most));
        const float log_sum = most + static_cast<float>(std::log(sum));
        for (float& logit : logits) logit -= log_sum;
    });
}

int64_t best(std::span<const float> values) {
    return std::max_element(values.begin(), values.end()) - values.begin();
}

double kl_divergence(std::span<const float> p, std::span<const float> q) {
    double sum = 0.0;
    for (size_t i = 0; i < p.size(); ++i) {
        const double log_p = p[i];
        sum += std::exp(log_p) * (log_p - static_cast<double>(q[i]));
    }
    return sum;
}

ordered_json model_json(const Predictions& model, const ClusteredMean& nll) {
    const double width = nll.half_width();
    return {{"checkpoint", model.name},
            {"nll", nll.json()},
            {"perplexity",
             {{"mean", std::exp(nll.mean())},
              {"low", std::exp(nll.mean() - width)},
              {"high", std::exp(nll.mean() + width)}}}};
}

struct Comparison {
    ClusteredMean nll, other_nll, kl, agreement;

    void add(std::span<const float> p, std::span<const float> q, int32_t next) {
        nll.add(-static_cast<double>(p[static_cast<size_t>(next)]));
        if (q.empty()) return;
        other_nll.add(-static_cast<double>(q[static_cast<size_t>(next)]));
        kl.add(kl_divergence(p, q));
        agreement.add(best(p) == best(q) ? 1.0 : 0.0);
    }
    void end_sequence() {
        for (ClusteredMean* mean : {&nll, &other_nll, &kl, &agreement}) mean->end_sequence();
    }
};

}  // namespace

ordered_json evaluate(const EvalOptions& options, const EvalProgress& progress, ThreadPool& threads) {
    EvalOptions checked = options;
    std::erase_if(checked.sequences, [](const auto& tokens) { return tokens.size() < 2; });
    if (checked.sequences.empty()) {
        fail(ErrorCode::invalid_argument, "there is nothing to predict; expected a text of at least two tokens");
    }
    const int64_t tokens = predicted_tokens(checked.sequences);
    const bool both = !options.against.empty();
    const auto total = static_cast<uint64_t>(tokens) * (both ? 3 : 2);  // passes, and the heads once
    uint64_t done = 0;
    const auto advance = [&](uint64_t count) {
        done += count;
        if (progress) progress(done, total);
    };
    CpuBackend backend(kernels::kernel_table(kernels::select_tier()), threads, ComputeMode::bf16);
    const Predictions first = predict(options.checkpoint, checked, backend, threads, advance);
    std::optional<Predictions> other;
    if (both) other = predict(options.against, checked, backend, threads, advance);
    if (other && other->vocab_size != first.vocab_size) {
        fail(ErrorCode::invalid_argument, "{} has a vocabulary of {}, {} one of {}; expected the same", first.name,
             first.vocab_size, other->name, other->vocab_size);
    }

    Comparison comparison;
    std::vector<float> p, q;
    int64_t token = 0;
    const int64_t num_ids = std::min(options.num_ids, first.vocab_size);
    for (const std::vector<int32_t>& sequence : checked.sequences) {
        const auto count = static_cast<int64_t>(sequence.size()) - 1;
        for (int64_t begin = 0; begin < count; begin += kLogitRows) {
            const int64_t rows = std::min<int64_t>(kLogitRows, count - begin);
            log_probabilities(p, first, token + begin, rows, num_ids, backend, threads);
            if (other) log_probabilities(q, *other, token + begin, rows, num_ids, backend, threads);
            for (int64_t row = 0; row < rows; ++row) {
                const auto at = static_cast<size_t>(row * first.vocab_size);
                const auto of = [&](const std::vector<float>& all) {
                    return std::span<const float>(all).subspan(at, static_cast<size_t>(num_ids));
                };
                comparison.add(of(p), other ? of(q) : std::span<const float>(),
                               sequence[static_cast<size_t>(begin + row + 1)]);
            }
            advance(static_cast<uint64_t>(rows));
        }
        comparison.end_sequence();
        token += count;
    }
    ordered_json result = {{"tokens", tokens}, {"sequences", checked.sequences.size()}};
    result["models"] = ordered_json::array({model_json(first, comparison.nll)});
    if (other) {
        result["models"].push_back(model_json(*other, comparison.other_nll));
        result["kl"] = comparison.kl.json();
        result["top1_agreement"] = comparison.agreement.json();
    }
    return result;
}

}  // namespace colugo
