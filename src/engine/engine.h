// The engine: many sequences over one model and one cache. Any thread may submit, cancel and look up; one thread calls
// step(), or run(), and owns everything else.
#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "engine/draft_adjuster.h"
#include "engine/loaded_model.h"
#include "engine/scheduler.h"
#include "sampling/sampler.h"
#include "spec/drafter.h"

namespace colugo {

struct EngineMetrics {
    int64_t submitted = 0;
    int64_t finished = 0;
    int64_t running = 0;
    int64_t waiting = 0;
    int64_t steps = 0;
    int64_t prefill_rows = 0;  // rows of the model's first layer, by what they were
    int64_t decode_rows = 0;
    SpecCounters drafts;
    HeadWork head;
    int64_t most_sequences = 0;  // of one step
    int64_t generated_tokens = 0;
    double step_seconds = 0.0;  // in all
    double form_seconds = 0.0;  // of these, for replies that have ended: on their grammars
    Scheduler::Counters scheduler;
    CacheCounters cache;
    DiskCounters disk;
    bool disk_at_work = false;
    uint64_t cache_bytes = 0;  // the budget
    uint64_t used_bytes = 0;   // of it
    int64_t snapshots = 0;
    int64_t pages = 0;
};

class Engine {
 public:
    struct Options {
        int max_waiting = 1024;                     // requests that are submitted and not yet running
        std::string cache_disk = {};                // a folder for what leaves the cache; empty: none
        uint64_t cache_disk_bytes = 0;              // of it at most
        double cache_disk_seconds = 10.0;           // of writing at the end, at most
        std::function<void(std::string)> log = {};  // sentences about what is lost there; on the engine's thread
        // The bytes of a token, for stop strings; absent: requests that have any are refused.
        std::function<std::string_view(int32_t)> token_bytes = {};
        std::optional<PassCost> pass_cost = {};  // taken as it is; absent: measured, where the drafts that pay count
    };
    // tokens: the ids that may be drawn. The model must outlive the engine. Throws what DiskTier throws.
    Engine(LoadedModel& model, TokenMask tokens, Options options);
    Engine(LoadedModel& model, TokenMask tokens) : Engine(model, std::move(tokens), Options()) {}
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Throws what check_request throws for the model's context, and resource_exhausted when too many requests wait. The
    // listener is called until finished(), and let go then.
    RequestId submit(Request request, std::shared_ptr<RequestListener> listener);
    // The request ends before its next token, unless it has ended already.
    void cancel(RequestId id);
    // What a request with this prompt would find, in memory or on disk, were it the next one to begin. Told after the
    // step that is being taken; nothing of the cache changes by it, not even what is evicted first.
    std::future<CacheManager::Lookup> look_up(OwnedPrefix prompt);

    // One turn: takes messages in, feeds one batch, gives tokens out. False when there was nothing to do.
    bool step();
    // Steps until stop(); sleeps while there is nothing to do. What has not finished then is cancelled, and what is
    // worth it written to disk.
    void run();
    void stop();

    // As it was after the last step.
    EngineMetrics metrics() const;
    // What is wrong with the cache, in a sentence; empty where all holds. For the engine's thread.
    std::string fault() const { return cache_.fault(); }
    // What memory has of a prompt. For the engine's thread.
    CacheManager::Lookup in_memory(const Prefix& prompt) const { return cache_.look_up(prompt); }

    // What a step fed.
    struct StepRows {
        int64_t sequences = 0;
        int64_t prefill = 0;
        int64_t decode = 0;
    };

 private:
    struct Submit {
        RequestId id;
        Request request;
        std::shared_ptr<RequestListener> listener;
    };
    struct Cancel {
        RequestId id;
    };
    struct LookUp {
        OwnedPrefix prompt;
        std::promise<CacheManager::Lookup> found;
    };
    using Message = std::variant<Submit, Cancel, LookUp>;

    void take_messages();
    void receive(Submit& submit);
    void receive(const Cancel& cancel);
    void receive(LookUp& look_up);
    std::unique_ptr<DiskTier> open_disk(const Options& options);
    void wait_for_disk();
    void draft(std::span<const Scheduler::Turn> turns);
    void forward(std::span<const Scheduler::Turn> turns);
    void report_logits(Sequence& sequence, int64_t first_row, int64_t rows);
    void settle(Sequence& sequence, size_t index, float* logits);
    std::optional<FinishReason> draw(Sequence& sequence, int64_t position, std::span<const float> logits);
    std::optional<FinishReason> take(Sequence& sequence, int32_t token, std::span<const float> logits);
    std::optional<FinishReason> take_only_choices(Sequence& sequence);
    bool give(Sequence& sequence, int32_t token, std::span<const float> logits);
    void finish(Sequence& sequence, FinishReason reason);
    void count_step(const StepRows& rows, double seconds);
    void publish_metrics();

    LoadedModel& model_;

    mutable std::mutex mutex_;  // of what follows up to the engine thread's own
    std::condition_variable wake_;
    std::vector<Message> mailbox_;
    bool stopping_ = false;
    bool disk_done_ = false;  // a job on the disk has ended
    RequestId next_id_ = 1;
    int64_t outstanding_ = 0;  // submitted and not finished
    EngineMetrics published_;

    // The engine thread's own. The disk's worker uses what is above.
    CacheManager cache_;
    std::unique_ptr<DiskTier> disk_;
    Scheduler scheduler_;
    Sampler sampler_;
    int max_waiting_;
    double cache_disk_seconds_;
    std::function<std::string_view(int32_t)> token_bytes_;
    std::optional<Drafter> drafter_;
    DraftAdjuster adjuster_{sampler_.tokens()};
    Buffer logits_;  // [rows whose logits a step may look at, vocab_size]
    std::vector<SequenceRows> batch_;
    std::vector<Drafter::Target> targets_;
    std::vector<Sequence*> drafted_;                     // of the targets
    std::vector<int32_t> draft_tokens_, draft_parents_;  // of all turns, one after the other
    std::vector<int32_t> logit_rows_;
    std::vector<int32_t> path_;
    std::array<TokenLogprob, kMostTopLogprobs> top_logprobs_;
    std::vector<Message> taken_;
    EngineMetrics counted_;
};

// An engine's run() on a thread of its own, stopped and joined at the end.
class EngineThread {
 public:
    explicit EngineThread(Engine& engine) : engine_(engine), thread_([&engine] { engine.run(); }) {}
    ~EngineThread() {
        engine_.stop();
        thread_.join();
    }
    EngineThread(const EngineThread&) = delete;
    EngineThread& operator=(const EngineThread&) = delete;

 private:
    Engine& engine_;
    std::thread thread_;
};

}  // namespace colugo
