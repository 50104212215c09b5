// Snapshots on disk, found again by their prefixes: what a cache in memory had to let go of, or an earlier run left. A
// worker thread does all reading and writing; nothing else here waits for the disk, except making a store.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "cache/disk_entry.h"
#include "cache/prefix_tree.h"

namespace colugo {

// In the user's folder there is one folder for each key, named by the key's XXH3-128. A store owns its key's folder
// while it lives (a lock on a file in there), and in it the files whose names are those of entries:
//
//     <position>-<number>.snapshot        an entry; position and number in decimal
//     <position>-<number>.snapshot.part   one being written, renamed when it is whole
//
// An entry holds the pages from where the nearest entry above it ends, its parent, and is read together with its
// parents. So no entry goes before those below it: not when the limit is reached, and a parent that turns out to be
// damaged takes them along.
//
// All functions are called from one thread, which also gets the log's sentences.
class DiskStore {
 public:
    struct Options {
        std::string folder;  // made where there is none
        // Names all that the bytes of a state depend on beside its tokens.
        std::string key;
        StateSizes sizes;  // each above 0
        // Of this key's entries. While one is written, its file comes on top.
        uint64_t max_bytes = 0;
        // Gets a sentence about everything that was lost or left alone.
        std::function<void(std::string)> log;
        // Called by the worker when poll() has something to tell. Must not call the store.
        std::function<void()> on_done;
    };

    // Reads the heads of all entries. Throws io where the folder cannot be used, and invalid_argument where another
    // process has it.
    explicit DiskStore(Options options);
    // Finishes the job that was started, if any.
    ~DiskStore();
    DiskStore(const DiskStore&) = delete;
    DiskStore& operator=(const DiskStore&) = delete;

    // The position of the deepest entry that a prefix begins with, no deeper than the limit; 0: none.
    int64_t deepest(const Prefix& prefix, int64_t limit) const;
    // Whether there is an entry of exactly this prefix.
    bool contains(const Prefix& prefix) const { return tree_.find(prefix) != nullptr; }

    // One job at a time: none may be started from the start of one until poll() has told how it ended.
    bool busy() const { return busy_; }
    // Writes the state behind a prefix, of which there must be no entry. Until the job has ended, nobody may change
    // the pieces: where the last page is not full, that is a copy which nobody adds to. Pages below
    // first_page_to_write() may be nullptr.
    void start_write(const Prefix& prefix, StatePieces from);
    int64_t first_page_to_write(const Prefix& prefix) const;
    // Fills the pieces with the state of the entry of exactly this prefix, except pages that are nullptr. Until the
    // job has ended well, anything may be in them.
    void start_read(const Prefix& prefix, StatePieces to);

    struct Done {
        enum class Kind { write, read };
        Kind kind = Kind::write;
        // After a failed read the entry is gone, and so are those that built on what could not be read; not so when it
        // was given up.
        bool ok = false;
        OwnedPrefix prefix;  // the job's
    };
    // The job that was started, if any, fails soon; what was to be read stays on disk.
    void give_up();
    // How the job ended, once.
    std::optional<Done> poll();

    uint64_t bytes() const { return bytes_; }  // of the entries' files
    size_t num_entries() const { return entries_.size(); }
    // What the index takes of memory.
    uint64_t index_bytes() const;

 private:
    struct Entry {
        uint64_t number = 0;
        EntryPlace place;
        uint64_t file_bytes = 0;
        int64_t last_use = 0;
    };
    struct Job {
        Done::Kind kind = Done::Kind::write;
        OwnedPrefix prefix;
        StatePieces pieces;
        std::vector<Entry> chain;  // the entry and, on reading, its parents upwards
        uint64_t most_bytes = 0;   // on writing
    };
    struct Outcome {
        Job job;
        std::string failure;          // empty: it went well
        int64_t failed_position = 0;  // of the entry that failed
    };
    class FolderLock {
     public:
        explicit FolderLock(const std::string& folder);
        ~FolderLock();
        FolderLock(const FolderLock&) = delete;
        FolderLock& operator=(const FolderLock&) = delete;

     private:
        int handle_;
    };

    std::string path_of(const Entry& entry) const;

    void scan();
    void take_file(Entry entry);
    void add(const Prefix& prefix, Entry entry);
    void remove(PrefixTree::Node& node);
    size_t remove_with_those_below(PrefixTree::Node& node);
    void keep_limit();
    void start(Job job);
    void end_write(const Outcome& outcome);
    void end_read(const Outcome& outcome);

    // The worker's.
    void work();
    void remove_files(const std::vector<std::string>& paths);
    Outcome run(Job job);
    void write(Job& job);
    void read(const Job& job, int64_t& position);

    const Options options_;
    const std::string folder_;  // of the key
    const FolderLock lock_;
    EntryCodec codec_;  // the worker's, once there is one, but for give_up()

    // Marks where there is an entry by a snapshot without pieces.
    PrefixTree tree_;
    std::unordered_map<const PrefixTree::Node*, Entry> entries_;
    uint64_t bytes_ = 0;
    uint64_t next_number_ = 0;
    int64_t clock_ = 0;  // above every last_use
    bool busy_ = false;
    bool gave_up_ = false;  // the job, or the last one

    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;                  // under the mutex, as all below
    std::optional<Job> job_;             // not begun
    std::vector<std::string> removals_;  // files, in this order and before the job
    std::optional<Outcome> outcome_;
    std::vector<std::string> complaints_;
    std::thread worker_;
};

}  // namespace colugo
