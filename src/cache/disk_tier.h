// Moves snapshots between the cache in memory and a store on disk: out before they are evicted and at the end, back in
// when a sequence begins with what only the disk has.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "cache/cache_manager.h"
#include "cache/disk_store.h"

namespace colugo {

struct DiskCounters {
    int64_t writes = 0;
    int64_t reads = 0;        // that brought a snapshot back
    int64_t failed = 0;       // of both
    int64_t read_tokens = 0;  // below the snapshots that came back, and not in memory then
};

class DiskTier {
 public:
    // The store's sizes and on_done are filled in here; on_done is called besides. Throws what DiskStore throws.
    DiskTier(CacheManager& cache, DiskStore::Options options);
    ~DiskTier();

    // Takes in what the worker has done. Once a step.
    void tend();
    // Gives the worker something to write, where it has nothing to do: what memory may soon have no room for or, when
    // the engine is idle, anything that is worth it.
    void write_behind(bool idle);
    // Tokens of the snapshot that is worth reading for a sequence that begins so; 0: there is none.
    int64_t would_fetch(const Prefix& prefix) const;
    // Whether a sequence that begins so had better wait: the disk has more of it than memory, and reads it.
    bool fetches(const Prefix& prefix);
    // Writes what is worth it, the most valuable first, for so many seconds at most. No lease may be left.
    void flush(double seconds);

    const DiskCounters& counters() const { return counters_; }
    // Something is being written or read, or has been since the last call of anything above.
    bool at_work() const { return at_work_ != nullptr; }
    uint64_t bytes() const { return store_.bytes(); }

 private:
    using Clock = std::chrono::steady_clock;

    DiskStore::Options filled(DiskStore::Options options);
    void take_in(DiskStore::Done done);
    bool write(PrefixTree::Node& node);
    PrefixTree::Node* next_to_write() const;
    void finish_job(Clock::time_point end);

    CacheManager& cache_;
    std::function<void()> on_done_;
    std::function<void(std::string)> log_;
    std::mutex mutex_;
    std::condition_variable done_;
    bool is_done_ = false;  // under the mutex: since it was last waited for
    DiskStore store_;
    Snapshot* at_work_ = nullptr;  // what the worker reads or fills
    int64_t cached_before_ = 0;    // tokens of what is being read that memory had
    int64_t all_written_ = -1;     // snapshots that had been taken when there was nothing to write
    DiskCounters counters_;
};

}  // namespace colugo
