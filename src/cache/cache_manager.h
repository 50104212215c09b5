// The only one that grants and frees what sequences and the prefix cache hold: attention pages, recurrent states and
// the tree of prefixes, under one budget of bytes. A sequence holds a Lease while it runs; what it leaves behind are
// snapshots, which the next one with the same tokens continues from, and which go again when their bytes are needed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/prefix_tree.h"
#include "model/qwen35.h"

namespace colugo {

// The sizes in bytes of what a sequence's state is made of, each above 0.
struct StateFormat {
    size_t page_bytes = 0;
    size_t border_bytes = 0;
    size_t rows_bytes = 0;
    size_t tail_bytes = 0;
    // Makes `to` hold the page `from` as it was when only its first `columns` positions were written.
    std::function<void(std::byte* to, const std::byte* from, int columns)> copy_page = {};

    // What a budget has to hold: for a sequence of so many positions, the cache empty beside it; for a snapshot beside
    // its pages; and once for all.
    uint64_t sequence_bytes(int64_t length) const;
    uint64_t snapshot_bytes() const;
    uint64_t fixed_bytes() const;
};

// Borrows the model.
StateFormat state_format(const Qwen35& model);

struct CacheCounters {
    int64_t queries = 0;       // admitted sequences
    int64_t hits = 0;          // that began at a snapshot
    int64_t query_tokens = 0;  // their tokens
    int64_t hit_tokens = 0;    // of these, below the snapshots
    int64_t snapshots_taken = 0;
    int64_t snapshots_left_out = 0;  // for want of memory
    int64_t evictions = 0;
};

// What a running sequence holds. Made and used up by the CacheManager.
class Lease {
 public:
    SequenceState& state() { return state_; }
    int64_t length() const { return state_.length; }
    // Tokens below the snapshot it began at.
    int64_t cached_len() const { return cached_len_; }
    // Tokens it had in common with sequences the cache knows, when it began.
    int64_t matched_len() const { return matched_len_; }

    // Of the pass that was prepared, for SequenceRows.
    std::span<const PassPage> pass_pages() const { return pass_pages_; }
    std::span<const TailCopy> tails() const { return tail_copies_; }

 private:
    friend class CacheManager;
    Prefix prefix(std::span<const int32_t> tokens) const { return {tokens, scope_}; }
    // A snapshot the prepared pass takes.
    struct Taking {
        int64_t position;
        SlotRef border, rows, tail;
    };

    // Calls visit(ref) for every slot it holds.
    template <typename Visit>
    void visit_slots(Visit visit) const;

    std::string scope_;
    SequenceState state_;
    std::vector<SlotRef> pages_;
    SlotRef border_, rows_, tail_;
    int64_t worst_length_ = 0;
    int64_t cached_len_ = 0;
    int64_t matched_len_ = 0;

    int64_t pass_begin_ = 0;  // its length before the pass
    std::vector<PassPage> pass_pages_;
    std::vector<SlotRef> pass_borders_, pass_rows_;  // behind pass_pages_, one for each
    bool has_next_rows_ = false;                     // the pass holds the next rows beside those in use
    std::vector<TailCopy> tail_copies_;
    std::vector<Taking> takings_;
};

class CacheManager {
 public:
    // Throws resource_exhausted when not even a sequence of `longest` positions fits.
    CacheManager(StateFormat format, uint64_t budget_bytes, int64_t longest);
    ~CacheManager();
    CacheManager(const CacheManager&) = delete;
    CacheManager& operator=(const CacheManager&) = delete;

    const StateFormat& format() const { return format_; }

    // Whether the sequence would begin at a snapshot, and where: tokens below it, of all in common.
    struct Lookup {
        int64_t cached_len = 0;
        int64_t matched_len = 0;
    };
    Lookup look_up(const Prefix& prefix) const;

    // A lease for a sequence that begins so and will have `worst_length` positions at most, at the deepest snapshot
    // that leaves at least one token to feed. nullptr when the leases there are may yet need the memory.
    std::unique_ptr<Lease> admit(const Prefix& prefix, int64_t worst_length);

    // Makes room for the next `count` positions, and `draft_depth` more that may be committed after the pass. A
    // snapshot is taken at each of `snapshots_at` (ascending, among the `count`) that there is memory for.
    void prepare(Lease& lease, int64_t count, std::span<const int64_t> snapshots_at, int64_t draft_depth = 0);
    // After the pass and the commit of its drafts: its snapshots can be found. tokens: all that were fed to the
    // sequence.
    void commit(Lease& lease, std::span<const int32_t> tokens);
    // Ends the lease; where it stands becomes a snapshot. tokens: as in commit().
    void finish(std::unique_ptr<Lease> lease, std::span<const int32_t> tokens);
    // Ends the lease and forgets where it stands.
    void drop(std::unique_ptr<Lease> lease);

    // Snapshots whose memory somebody outside works on: it is neither given away nor written to until they are
    // released. A node's; what a sequence may yet add to is a copy. nullptr where the leases may need the memory.
    Snapshot* hold(const PrefixTree::Node& node);
    // A new one behind a prefix, to be filled; its first `shared` pages are some that memory has and stay as they
    // are. nullptr as above.
    Snapshot* hold_new(const Prefix& prefix, size_t& shared);
    void release(const Snapshot* snapshot);
    // Releases it into the tree. Returns its node; nullptr when there is no room.
    PrefixTree::Node* adopt(const Snapshot* snapshot, const Prefix& prefix);
    PrefixTree::Node* find(const Prefix& prefix) const { return tree_.find(prefix); }
    // The lower, the sooner it is evicted.
    double priority(const PrefixTree::Node& node) const;

    const MemoryBudget& budget() const { return budget_; }
    const CacheCounters& counters() const { return counters_; }
    size_t num_snapshots() const { return tree_.snapshots().size(); }
    int64_t num_pages() const { return pages_.granted(); }
    const PrefixTree& tree() const { return tree_; }

    // What is wrong, in a sentence; empty where every count and reference is accounted for.
    std::string fault() const;

 private:
    uint64_t live_bytes(std::span<const SlotRef> more) const;
    uint64_t outstanding_bytes(const Lease& lease) const;
    uint64_t claimed_bytes(std::span<const SlotRef> more) const;
    uint64_t unclaimed_bytes() const;
    void begin_at(Lease& lease, const Snapshot& snapshot);
    SlotRef grant(SlotPool& pool);
    void evict(uint64_t bytes);
    void plan_takings(Lease& lease, int64_t end, std::span<const int64_t> snapshots_at);
    PrefixTree::Node* insert(const Prefix& prefix, Snapshot snapshot);
    void charge_tree();
    void point_state(Lease& lease) const;
    std::string reference_fault() const;
    std::string lease_fault() const;

    StateFormat format_;
    MemoryBudget budget_;
    SlotPool pages_, borders_, rows_, tails_;
    SlotRef zero_border_;
    PrefixTree tree_;
    uint64_t tree_bytes_ = 0;  // taken from the budget
    std::vector<Lease*> leases_;
    std::vector<std::unique_ptr<Snapshot>> held_;
    CacheCounters counters_;
    // Eviction is GreedyDual-Size-Frequency (Cherkasova 1998): the clock is the priority of the last snapshot evicted.
    double clock_ = 0.0;
    std::vector<std::pair<double, PrefixTree::Node*>> candidates_;
};

}  // namespace colugo
