#include "cache/disk_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace colugo {

namespace {

constexpr std::string_view kLockName = "lock";
constexpr std::string_view kPartEnding = ".part";

std::string name_of(int64_t position, uint64_t number) {
    return fmt::format("{:010}-{:08}.snapshot", position, number);
}

// Position and number of a name that name_of() gives; 0 and 0 of any other.
std::pair<int64_t, uint64_t> parse_name(const std::string& name) {
    int64_t position = 0;
    uint64_t number = 0;
    const char* end = name.data() + name.size();
    const char* dash = std::from_chars(name.data(), end, position).ptr;
    if (dash != end) std::from_chars(dash + 1, end, number);
    if (position <= 0 || name_of(position, number) != name) return {};
    return {position, number};
}

// Makes the folder of the key, and those above it.
std::string make_key_folder(const std::string& folder, const std::string& key) {
    const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
    std::string path = fmt::format("{}/{:016x}{:016x}", folder, hash.high64, hash.low64);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    // What users wrote can be told from what lies in there.
    if (!error && mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail_errno("make", path);
    if (error) fail(ErrorCode::io, "cannot make {}: {}", folder, error.message());
    return path;
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    try {
        for (const auto& file : std::filesystem::directory_iterator(folder)) {
            names.push_back(file.path().filename().string());
        }
    } catch (const std::filesystem::filesystem_error& error) {
        fail(ErrorCode::io, "cannot read {}: {}", folder, error.code().message());
    }
    return names;
}

int64_t modification_time(const std::string& path) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) return 0;
    constexpr int64_t kMostSeconds = int64_t{1} << 33;  // in nanoseconds there is room above them
    return std::clamp<int64_t>(status.st_mtim.tv_sec, 0, kMostSeconds) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

DiskStore::FolderLock::FolderLock(const std::string& folder) {
    const std::string path = fmt::format("{}/{}", folder, kLockName);
    handle_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (handle_ < 0) fail_errno("open", path);
    if (flock(handle_, LOCK_EX | LOCK_NB) == 0) return;
    const int reason = errno;
    close(handle_);
    if (reason == EWOULDBLOCK) fail(ErrorCode::invalid_argument, "{} is in use by another process", folder);
    errno = reason;
    fail_errno("lock", path);
}

DiskStore::FolderLock::~FolderLock() {
    close(handle_);
}

DiskStore::DiskStore(Options options)
    : options_(std::move(options)),
      folder_(make_key_folder(options_.folder, options_.key)),
      lock_(folder_),
      codec_(options_.key, options_.sizes) {
    COLUGO_CHECK(options_.log && options_.on_done);
    scan();
    keep_limit();
    try {
        worker_ = std::thread(&DiskStore::work, this);
    } catch (const std::system_error& error) {
        fail(ErrorCode::resource_exhausted, "cannot start a thread for {}: {}", folder_, error.code().message());
    }
}

DiskStore::~DiskStore() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_one();
    worker_.join();
}

std::string DiskStore::path_of(const Entry& entry) const {
    return fmt::format("{}/{}", folder_, name_of(entry.place.position, entry.number));
}

// Takes in what an earlier run left, parents before those that build on them.
void DiskStore::scan() {
    std::vector<Entry> found;
    for (const std::string& name : names_in(folder_)) {
        const bool part = name.ends_with(kPartEnding);
        const auto [position, number] = parse_name(part ? name.substr(0, name.size() - kPartEnding.size()) : name);
        next_number_ = std::max(next_number_, number + 1);
        if (position > 0 && part) {
            removals_.push_back(fmt::format("{}/{}", folder_, name));
        } else if (position > 0) {
            found.push_back({.number = number, .place = {position, 0}});
        } else if (name != kLockName) {
            options_.log(fmt::format("{}/{} is left alone: it is no snapshot's name", folder_, name));
        }
    }
    std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) {
        return std::pair(a.place.position, a.number) < std::pair(b.place.position, b.number);
    });
    for (const Entry& entry : found) take_file(entry);
}

// Files of another kind stay where they are; those that can never be read go.
void DiskStore::take_file(Entry entry) {
    const std::string path = path_of(entry);
    std::string reason;
    try {
        const EntryHead head = codec_.read_head(path);
        if (head.place.position != entry.place.position) {
            reason = fmt::format("{} holds a snapshot at {}", path, head.place.position);
        } else if (contains(head.prefix)) {
            reason = fmt::format("{} holds a snapshot that another file has too", path);
        } else if (head.place.parent > 0 && !contains(head.prefix.first(head.place.parent))) {
            reason = fmt::format("{} builds on a snapshot that is missing", path);
        } else {
            entry.place = head.place;
            entry.file_bytes = head.file_bytes;
            entry.last_use = modification_time(path);
            clock_ = std::max(clock_, entry.last_use);
            return add(head.prefix, entry);
        }
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_file) return options_.log(fmt::format("ignored: {}", error.what()));
        reason = error.what();
    }
    options_.log(fmt::format("removed: {}", reason));
    removals_.push_back(path);
}

int64_t DiskStore::deepest(const Prefix& prefix, int64_t limit) const {
    const PrefixTree::Match match = tree_.match(prefix, limit);
    return match.deepest != nullptr ? match.deepest->position : 0;
}

int64_t DiskStore::first_page_to_write(const Prefix& prefix) const {
    return EntryPlace{.position = 0, .parent = deepest(prefix, prefix.length() - 1)}.first_page();
}

uint64_t DiskStore::index_bytes() const {
    // A node of the map: the entry, the next one, and its bucket.
    constexpr uint64_t kMapBytes = sizeof(std::pair<const PrefixTree::Node*, Entry>) + 2 * sizeof(void*);
    return tree_.bytes() + entries_.size() * kMapBytes;
}

void DiskStore::add(const Prefix& prefix, Entry entry) {
    PrefixTree::Node& node = tree_.insert(prefix);
    Snapshot mark;
    mark.position = node.position;
    tree_.attach(node, std::move(mark));
    bytes_ += entry.file_bytes;
    entries_.emplace(&node, entry);
}

// Forgets an entry and leaves its file to the worker.
void DiskStore::remove(PrefixTree::Node& node) {
    const auto found = entries_.find(&node);
    COLUGO_CHECK(found != entries_.end());
    {
        const std::lock_guard lock(mutex_);
        removals_.push_back(path_of(found->second));
    }
    wake_.notify_one();
    bytes_ -= found->second.file_bytes;
    entries_.erase(found);
    tree_.detach(node);
}

// Returns how many.
size_t DiskStore::remove_with_those_below(PrefixTree::Node& node) {
    std::vector<PrefixTree::Node*> nodes = {&node}, with_entry;
    for (size_t i = 0; i < nodes.size(); ++i) {
        PrefixTree::Node& next = *nodes[i];
        if (next.snapshot) with_entry.push_back(&next);
        for (const auto& child : next.children) nodes.push_back(child.get());
    }
    // Each after those below it.
    for (size_t i = with_entry.size(); i-- > 0;) remove(*with_entry[i]);
    return with_entry.size();
}

// Those that were used least recently go, of those that nothing builds on.
void DiskStore::keep_limit() {
    while (bytes_ > options_.max_bytes) {
        PrefixTree::Node* oldest = nullptr;
        for (PrefixTree::Node* node : tree_.snapshots()) {
            if (!node->children.empty()) continue;
            if (oldest == nullptr || entries_.at(node).last_use < entries_.at(oldest).last_use) oldest = node;
        }
        remove(*oldest);
    }
}

void DiskStore::start(Job job) {
    COLUGO_CHECK(!busy_);
    busy_ = true;
    gave_up_ = false;
    codec_.give_up(false);
    {
        const std::lock_guard lock(mutex_);
        job_ = std::move(job);
    }
    wake_.notify_one();
}

void DiskStore::start_write(const Prefix& prefix, StatePieces from) {
    const int64_t position = prefix.length();
    COLUGO_CHECK(position > 0 && !contains(prefix));
    const PrefixTree::Node* above = tree_.match(prefix, position).deepest;
    Entry entry;
    entry.number = next_number_++;
    entry.place = {position, above != nullptr ? above->position : 0};
    COLUGO_CHECK(static_cast<int64_t>(from.pages.size()) == entry.place.end_page());
    // All others can make room for it, except those above.
    uint64_t most_bytes = options_.max_bytes;
    for (; above != nullptr; above = PrefixTree::snapshot_above(*above)) {
        most_bytes -= std::min(most_bytes, entries_.at(above).file_bytes);
    }
    start({.kind = Done::Kind::write,
           .prefix = OwnedPrefix(prefix),
           .pieces = std::move(from),
           .chain = {entry},
           .most_bytes = most_bytes});
}

void DiskStore::start_read(const Prefix& prefix, StatePieces to) {
    const PrefixTree::Node* node = tree_.find(prefix);
    COLUGO_CHECK(node != nullptr);
    COLUGO_CHECK(static_cast<int64_t>(to.pages.size()) == entries_.at(node).place.end_page());
    std::vector<Entry> chain = {entries_.at(node)};
    while (chain.back().place.parent > 0) {
        // One that was written later may stand between an entry and its parent.
        while (node->position != chain.back().place.parent) node = PrefixTree::snapshot_above(*node);
        chain.push_back(entries_.at(node));
    }
    start(
        {.kind = Done::Kind::read, .prefix = OwnedPrefix(prefix), .pieces = std::move(to), .chain = std::move(chain)});
}

void DiskStore::give_up() {
    gave_up_ = true;
    codec_.give_up(true);
}

std::optional<DiskStore::Done> DiskStore::poll() {
    std::optional<Outcome> outcome;
    std::vector<std::string> complaints;
    {
        const std::lock_guard lock(mutex_);
        outcome.swap(outcome_);
        complaints.swap(complaints_);
    }
    for (std::string& sentence : complaints) options_.log(std::move(sentence));
    if (!outcome) return std::nullopt;
    busy_ = false;
    if (outcome->job.kind == Done::Kind::write) {
        end_write(*outcome);
    } else {
        end_read(*outcome);
    }
    return Done{outcome->job.kind, outcome->failure.empty(), std::move(outcome->job.prefix)};
}

void DiskStore::end_write(const Outcome& outcome) {
    const OwnedPrefix& prefix = outcome.job.prefix;
    if (!outcome.failure.empty()) {
        options_.log(fmt::format("a snapshot at {} was not kept on disk: {}", prefix.tokens.size(), outcome.failure));
        return;
    }
    Entry entry = outcome.job.chain.front();
    entry.last_use = ++clock_;
    add(prefix, entry);
    keep_limit();
}

void DiskStore::end_read(const Outcome& outcome) {
    const auto node_at = [&](int64_t position) { return tree_.find(outcome.job.prefix.first(position)); };
    if (!outcome.failure.empty()) {
        if (gave_up_) return;
        const size_t removed = remove_with_those_below(*node_at(outcome.failed_position));
        options_.log(fmt::format("a snapshot at {} was lost on disk, with {} that build on it: {}",
                                 outcome.failed_position, removed - 1, outcome.failure));
        return;
    }
    for (const Entry& entry : outcome.job.chain) entries_.at(node_at(entry.place.position)).last_use = ++clock_;
}

void DiskStore::work() {
    // Compressing takes a core for a while: it is to be one that nobody computes on. Where that is refused, so be it.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
    std::unique_lock lock(mutex_);
    while (true) {
        wake_.wait(lock, [&] { return stop_ || job_ || !removals_.empty(); });
        if (!removals_.empty()) {
            const std::vector<std::string> paths = std::exchange(removals_, {});
            lock.unlock();
            remove_files(paths);
            lock.lock();
        } else if (job_) {
            Job job = std::move(*job_);
            job_.reset();
            lock.unlock();
            Outcome outcome = run(std::move(job));
            lock.lock();
            outcome_ = std::move(outcome);
            lock.unlock();
            options_.on_done();
            lock.lock();
        } else {
            return;
        }
    }
}

void DiskStore::remove_files(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        if (unlink(path.c_str()) == 0 || errno == ENOENT) continue;
        std::string complaint = fmt::format("cannot remove {}: {}", path, std::strerror(errno));
        const std::lock_guard lock(mutex_);
        complaints_.push_back(std::move(complaint));
    }
}

DiskStore::Outcome DiskStore::run(Job job) {
    Outcome outcome;
    outcome.job = std::move(job);
    try {
        if (outcome.job.kind == Done::Kind::write) {
            write(outcome.job);
        } else {
            read(outcome.job, outcome.failed_position);
        }
    } catch (const std::exception& error) {
        outcome.failure = error.what();
    }
    return outcome;
}

void DiskStore::write(Job& job) {
    Entry& entry = job.chain.front();
    const std::string path = path_of(entry), part = fmt::format("{}{}", path, kPartEnding);
    try {
        entry.file_bytes = codec_.write(part, job.prefix, entry.place.parent, job.pieces, job.most_bytes);
        if (std::rename(part.c_str(), path.c_str()) != 0) fail_errno("rename", part);
    } catch (...) {
        unlink(part.c_str());
        throw;
    }
}

// position: of the entry that is being read.
void DiskStore::read(const Job& job, int64_t& position) {
    for (const Entry& entry : job.chain) {
        position = entry.place.position;
        const bool is_parent = &entry != &job.chain.front();
        const auto pages = job.pieces.pages.begin();
        if (is_parent && std::all_of(pages + entry.place.first_page(), pages + entry.place.end_full_page(),
                                     [](const std::byte* page) { return page == nullptr; })) {
            continue;
        }
        const std::string path = path_of(entry);
        codec_.read(path, job.prefix.first(position), entry.place.parent, job.pieces,
                    is_parent ? EntryCodec::Part::full_pages : EntryCodec::Part::all);
        // What the next run knows of its last use.
        utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    }
}

}  // namespace colugo
