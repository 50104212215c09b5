// Who waits, who runs, and which rows the next step feeds. Requests start in order of priority and arrival, each when
// the cache can promise it the memory of its longest possible end, so a sequence that has begun is never out of memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cache/disk_tier.h"
#include "engine/sequence.h"
#include "engine/step_pace.h"

namespace colugo {

class Scheduler {
 public:
    struct Turn {
        Sequence* sequence;
        int64_t rows;
    };
    struct Counters {
        int64_t preemptions = 0;
        int64_t shared_reads = 0;  // sequences that waited for another to read what they have in common
    };

    // disk: nullptr, or what else has prefixes. parallel: sequences that run at a time. max_rows: of one step.
    Scheduler(CacheManager& cache, DiskTier* disk, int parallel, int64_t max_rows);

    void add(std::unique_ptr<Sequence> sequence);
    // nullptr: there is none, or no more.
    Sequence* find(RequestId id);
    // Some sequence, or nullptr.
    Sequence* any() const;
    // Starts those whose turn it is; may send running ones of lower priority back.
    void admit();
    // Rows for the next step, of running sequences, each at most once; empty when nothing runs.
    std::span<const Turn> plan();
    // Ends its lease, if it has one; what it has read so far stays in the cache with `keep`.
    std::unique_ptr<Sequence> remove(Sequence& sequence, bool keep);

    StepPace& pace() { return pace_; }
    const Counters& counters() const { return counters_; }
    // The next one to start waits for memory that others have.
    bool lacks_memory() const { return lacks_memory_; }
    size_t num_waiting() const { return waiting_.size(); }
    size_t num_running() const { return running_.size(); }

 private:
    using List = std::vector<std::unique_ptr<Sequence>>;

    bool try_start(Sequence& sequence);
    bool waits_for_reader(Sequence& sequence);
    bool preempt_below(int priority);
    void plan_snapshots(Sequence& sequence) const;
    void insert(List& list, std::unique_ptr<Sequence> sequence);
    void end_lease(Sequence& sequence, bool keep);

    CacheManager& cache_;
    DiskTier* disk_;
    size_t parallel_;
    int64_t max_rows_;
    int64_t snapshot_spacing_;  // positions
    List waiting_, running_;    // each by priority, then arrival
    std::vector<Turn> turns_;
    bool lacks_memory_ = false;
    StepPace pace_;
    Counters counters_;
};

}  // namespace colugo
