// Everything that belongs together from launch to exit: a checkpoint's weights, the backend they run on, the model, and
// the plan of the memory beside them. Ready means that a pass has been seen to give finite logits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/thread_pool.h"
#include "checkpoint/weights.h"
#include "engine/launch_options.h"
#include "engine/memory_plan.h"
#include "model/qwen35.h"

namespace colugo {

class LoadedModel {
 public:
    // Bytes of the weight files read so far, and in all.
    using Progress = std::function<void(uint64_t done, uint64_t total)>;

    // Plans before it reads: throws invalid_argument or resource_exhausted while nothing is loaded yet, what the
    // checkpoint's readers throw, and invalid_file when the self-test meets a logit that is not finite.
    explicit LoadedModel(const LaunchOptions& options, const Progress& progress = {});
    LoadedModel(const LoadedModel&) = delete;
    LoadedModel& operator=(const LoadedModel&) = delete;

    const ModelConfig& config() const { return config_; }
    const LoadReport& report() const { return loaded_.report; }
    const MemoryPlan& plan() const { return plan_; }
    kernels::KvType kv_type() const { return kv_type_; }
    kernels::Tier tier() const { return backend_.table().tier; }
    int threads() const { return threads_.size(); }
    // What requests may ask for.
    const SpecParams& spec() const { return spec_; }
    // Rows of a step, drafts left out.
    int max_rows() const { return max_rows_; }
    // Sentences for the user: from the files, the weights and the plan.
    const std::vector<std::string>& notices() const { return notices_; }

    Qwen35& model() { return *model_; }
    // Names everything the bytes of a sequence's state depend on beside its tokens. Reads all weights once.
    std::string numerics_key() const;
    // Bytes of weights that one pass and its logits read.
    uint64_t weight_bytes_per_pass() const;

 private:
    void load(const CheckpointFiles& files, const LaunchOptions& options, const Progress& progress);
    void self_test();

    std::string directory_;
    std::vector<std::string> notices_;
    ModelConfig config_;
    ComputeMode compute_;
    SpecParams spec_;
    int max_rows_ = 0;
    ThreadPool threads_;
    CpuBackend backend_;
    LoadedWeights loaded_;
    kernels::KvType kv_type_ = kernels::KvType::bf16;
    MemoryPlan plan_;
    std::unique_ptr<Qwen35> model_;
};

}  // namespace colugo
