#include "quant/checkpoint_writer.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/mapped_file.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/json_reader.h"
#include "quant/step_journal.h"

namespace colugo {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpoint = "checkpoint";
constexpr const char* kProgress = "progress";
constexpr const char* kLock = "progress/lock";
constexpr const char* kJob = "progress/job.json";
constexpr const char* kSteps = "progress/steps.jsonl";
constexpr const char* kScratch = "progress/scratch";
constexpr const char* kTemporary = "progress/unfinished-file";
constexpr uint64_t kMaxJobBytes = uint64_t{64} << 20;

// "a/b/" and "a/b" are one folder, whose neighbour is "a/b.partial".
std::string without_trailing_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const std::string name = fs::path(path).filename().string();
    if (name.empty() || name == "." || name == "..") {
        fail(ErrorCode::invalid_argument, "the output folder is given as \"{}\"; expected the name of a new folder",
             path);
    }
    return path;
}

std::string parent_of(const std::string& path) {
    const std::string parent = fs::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

void remove_all(const std::string& path) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) fail(ErrorCode::io, "cannot remove {}: {}", path, error.message());
}

void remove_children(const std::string& path) {
    std::error_code error;
    std::vector<std::string> children;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
        children.push_back(entry->path().string());
    }
    if (error) fail(ErrorCode::io, "cannot list {}: {}", path, error.message());
    for (const std::string& child : children) remove_all(child);
}

std::string room_text(uint64_t bytes) {
    constexpr double kMiB = 1024.0 * 1024.0;
    const double mib = static_cast<double>(bytes) / kMiB;
    return mib < 1024.0 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024.0);
}

// Compared as text and back: what is not UTF-8, and numbers that are none, JSON does not keep.
std::string job_text(const ordered_json& job) {
    return job.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

struct Difference {
    std::string key;  // "calibration.samples"
    std::string old_value, new_value;
};

// The first key whose values differ.
std::optional<Difference> first_difference(const json& before, const json& now, const std::string& key) {
    if (!before.is_object() || !now.is_object()) {
        if (before == now) return std::nullopt;
        return Difference{key, json_excerpt(before), json_excerpt(now)};
    }
    const std::string prefix = key.empty() ? "" : key + ".";
    for (const auto& [name, value] : now.items()) {
        if (!before.contains(name)) return Difference{prefix + name, "nothing", json_excerpt(value)};
        if (auto found = first_difference(before.at(name), value, prefix + name)) return found;
    }
    for (const auto& [name, value] : before.items()) {
        if (!now.contains(name)) return Difference{prefix + name, json_excerpt(value), "nothing"};
    }
    return std::nullopt;
}

bool is_plain_name(std::string_view name) {
    return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

uint64_t allocated_bytes(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * 512 : 0;
}

}  // namespace

CheckpointWriter::CheckpointWriter(const std::string& destination, const std::vector<OutputTensor>& tensors,
                                   uint64_t shard_bytes, const ordered_json& job, bool resume, uint64_t extra_bytes)
    : destination_(without_trailing_slashes(destination)),
      parent_(parent_of(destination_)),
      partial_(destination_ + ".partial"),
      layout_(lay_out_shards(tensors, shard_bytes)) {
    COLUGO_CHECK(job.is_object());
    std::error_code error;
    if (!fs::is_directory(parent_, error)) {
        fail(ErrorCode::not_found, "{} cannot be made: {} is not a folder that exists", destination_, parent_);
    }
    const bool begun = enter(resume, extra_bytes);
    const bool known = take_job(job);
    if (path_exists(destination_)) {
        // The checkpoint's folder is made before the job is noted: a job without one has been published.
        if (path_exists(path(kCheckpoint))) refuse_destination();
        sweep();
        if (!known) refuse_destination();
        complete_ = true;
        return;
    }
    journal_ = std::make_unique<StepJournal>(path(kSteps));
    if (!known && !journal_->empty()) {
        fail(ErrorCode::invalid_file, "{} has finished steps but no {}: remove the folder to begin anew", partial_,
             kJob);
    }
    make_folder(path(kScratch));
    if (journal_->empty()) {
        make_folder(path(kCheckpoint));
        remove_children(path(kCheckpoint));
    }
    if (begun) check_space(extra_bytes);
    if (!known) replace_file(path(kJob), job_text(job), path(kTemporary));
    if (journal_->empty()) {
        begin_shards();
    } else {
        continue_shards();
    }
    for (const std::string& folder : {path(kCheckpoint), path(kProgress), partial_, parent_}) sync_folder(folder);
}

CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::refuse_destination() const {
    fail(ErrorCode::invalid_argument, "{} already exists; expected the name of a new folder", destination_);
}

// What lies at DST.partial has to be ours before anything there is touched: a folder with nothing but our two.
void CheckpointWriter::check_partial() const {
    std::error_code error;
    bool ours = fs::is_directory(partial_, error);
    for (fs::directory_iterator entry(partial_, error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        ours = ours && (name == kCheckpoint || name == kProgress);
    }
    if (ours && !error) return;
    fail(ErrorCode::invalid_argument,
         "{} is in the way and is not what an unfinished run leaves; move it or choose another name than {}", partial_,
         destination_);
}

void CheckpointWriter::refuse_partial() {
    if (path_exists(path(kLock))) take_lock();  // refuses by itself where a run is at work
    fail(ErrorCode::invalid_argument,
         "{} holds an unfinished run; continue it with --resume, or remove it to begin anew", partial_);
}

// Makes or finds the folder and locks it. Returns whether it was there.
bool CheckpointWriter::enter(bool resume, uint64_t extra_bytes) {
    const bool begun = path_exists(partial_);
    if (!(begun && resume) && path_exists(destination_)) refuse_destination();
    if (begun) {
        check_partial();
        if (!resume) refuse_partial();
    } else {
        check_space(extra_bytes);
        if (!make_folder(partial_)) refuse_partial();
    }
    make_folder(path(kProgress));
    take_lock();
    return begun;
}

void CheckpointWriter::take_lock() {
    lock_.emplace(path(kLock));
    if (flock(lock_->handle(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) fail_errno("lock", lock_->path());
        fail(ErrorCode::invalid_argument, "{} is being made by another run, which holds {}; wait for it or end it",
             destination_, lock_->path());
    }
    // Between opening and locking, the run that held the lock may have published and swept it away.
    struct stat opened {};
    struct stat named {};
    if (fstat(lock_->handle(), &opened) != 0 || stat(lock_->path().c_str(), &named) != 0 ||
        opened.st_ino != named.st_ino) {
        fail(ErrorCode::invalid_argument, "{} has just been finished by another run", destination_);
    }
}

// Whether the job is on record; refuses another one.
bool CheckpointWriter::take_job(const ordered_json& job) const {
    const std::optional<std::string> text = read_text_file(path(kJob), kMaxJobBytes);
    if (!text) return false;
    const json before = parse_json_object(*text, path(kJob));
    const json now = parse_json_object(job_text(job), "the job");
    if (const auto difference = first_difference(before, now, "")) {
        fail(ErrorCode::invalid_argument,
             "{} was begun with {} = {}, now it is {}: continue it as it was begun, or remove it to begin anew",
             partial_, difference->key, difference->old_value, difference->new_value);
    }
    return true;
}

void CheckpointWriter::check_space(uint64_t extra_bytes) const {
    uint64_t output = 0;
    for (const Shard& shard : layout_.shards) {
        const uint64_t allocated = allocated_bytes(path(kCheckpoint) + "/" + shard.name);
        output += shard.bytes - std::min(shard.bytes, allocated);
    }
    uint64_t needed = 0;
    if (__builtin_add_overflow(output, extra_bytes, &needed)) needed = std::numeric_limits<uint64_t>::max();
    struct statvfs disk {};
    if (statvfs(parent_.c_str(), &disk) != 0) fail_errno("look at the disk of", parent_);
    const uint64_t available = uint64_t{disk.f_bavail} * disk.f_frsize;
    if (needed > available) {
        fail(ErrorCode::resource_exhausted,
             "{} needs {} on disk ({} of output, {} of scratch while it is made), and {} are free", destination_,
             room_text(needed), room_text(output), room_text(extra_bytes), room_text(available));
    }
}

void CheckpointWriter::begin_shards() {
    for (const Shard& shard : layout_.shards) {
        shards_.push_back(std::make_unique<OpenShard>(path(kCheckpoint) + "/" + shard.name));
        shards_.back()->file.allocate(shard.bytes);
        shards_.back()->file.write(0, shard.header);
    }
}

// Finished steps lie where this layout says only if it is the one they were written by.
void CheckpointWriter::continue_shards() {
    for (const Shard& shard : layout_.shards) {
        const std::string name = path(kCheckpoint) + "/" + shard.name;
        bool same = path_exists(name);
        if (same) {
            const MappedFile file(name);
            same = file.bytes().size() == shard.bytes &&
                   std::memcmp(file.bytes().data(), shard.header.data(), shard.header.size()) == 0;
        }
        if (!same) {
            fail(ErrorCode::invalid_file,
                 "{} is missing or laid out for other tensors, though steps of {} are finished: remove the folder to "
                 "begin anew",
                 name, partial_);
        }
        shards_.push_back(std::make_unique<OpenShard>(name));
    }
}

void CheckpointWriter::write(std::string_view tensor, uint64_t offset, std::span<const std::byte> bytes) {
    COLUGO_CHECK(!shards_.empty());
    const auto found = layout_.tensors.find(tensor);
    COLUGO_CHECK(found != layout_.tensors.end());
    const TensorPlace& place = found->second;
    COLUGO_CHECK(offset <= place.length && bytes.size() <= place.length - offset);
    OpenShard& shard = *shards_[place.shard];
    shard.file.write(place.offset + offset, bytes);
    // Afterwards: set before, another thread's finish_step could clear it with these bytes still to come.
    shard.dirty = true;
}

bool CheckpointWriter::done(std::string_view step) const {
    return journal_ && journal_->done(step);
}

const ordered_json& CheckpointWriter::record(std::string_view step) const {
    COLUGO_CHECK(journal_);
    return journal_->record(step);
}

void CheckpointWriter::finish_step(const std::string& step, const ordered_json& record) {
    COLUGO_CHECK(!shards_.empty());
    for (const auto& shard : shards_) {
        if (shard->dirty.exchange(false)) shard->file.sync_data();
    }
    journal_->append(step, record);
}

void CheckpointWriter::write_file(const std::string& name, std::string_view content) {
    COLUGO_CHECK(!shards_.empty() && is_plain_name(name));
    COLUGO_CHECK(std::none_of(layout_.shards.begin(), layout_.shards.end(),
                              [&](const Shard& shard) { return shard.name == name; }));
    replace_file(path(kCheckpoint) + "/" + name, content, path(kTemporary));
}

std::string CheckpointWriter::scratch_path(const std::string& name) const {
    COLUGO_CHECK(is_plain_name(name));
    return path(kScratch) + "/" + name;
}

void CheckpointWriter::publish() {
    COLUGO_CHECK(!shards_.empty());
    if (!layout_.index.empty()) write_file(kShardIndexName, layout_.index);
    for (const auto& shard : shards_) shard->file.sync();
    shards_.clear();
    sync_folder(path(kCheckpoint));
    rename_to_new(path(kCheckpoint), destination_);
    sync_folder(parent_);
    sync_folder(partial_);
    try {
        sweep();
    } catch (const Error& error) {
        fail(error.code(), "{} is complete, but {}", destination_, error.what());
    }
}

// Takes DST.partial away after the checkpoint has left it. The job goes last: by it a later run knows that DST is what
// it was to make.
void CheckpointWriter::sweep() const {
    remove_all(path(kScratch));
    remove_all(path(kSteps));
    remove_all(path(kJob));
    remove_all(partial_);
    sync_folder(parent_);
}

}  // namespace colugo
