#include "engine/scheduler.h"

#include <algorithm>

namespace colugo {

using kernels::kPage;

namespace {

// Tokens that are worth waiting for another sequence to read them: many times what a snapshot costs to restore.
constexpr int64_t kSharedLeast = 64;
// Tokens that are worth a snapshot where a known sequence parts from this one.
constexpr int64_t kBranchLeast = 8;
// A snapshot so near to a prompt's end serves the same prompt again; one so far from it, prompts of another end.
constexpr int64_t kEndMost = 64;
constexpr int64_t kLeastSpacing = 512;

int64_t common_length(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
    const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return ends.first - a.begin();
}

bool goes_before(const std::unique_ptr<Sequence>& a, const std::unique_ptr<Sequence>& b) {
    const int first = a->request().priority, second = b->request().priority;
    return first != second ? first > second : a->id() < b->id();
}

// Positions between snapshots of a long prompt: as many as take the bytes of a snapshot in pages, so that the spaced
// ones at most double what a prompt takes.
int64_t spacing(const StateFormat& format) {
    const auto pages = static_cast<int64_t>(format.snapshot_bytes() / SlotPool::cost_of(format.page_bytes)) + 1;
    return std::max(pages * kPage, kLeastSpacing);
}

}  // namespace

Scheduler::Scheduler(CacheManager& cache, DiskTier* disk, int parallel, int64_t max_rows)
    : cache_(cache),
      disk_(disk),
      parallel_(static_cast<size_t>(parallel)),
      max_rows_(max_rows),
      snapshot_spacing_(spacing(cache.format())) {
    turns_.reserve(parallel_);
}

void Scheduler::insert(List& list, std::unique_ptr<Sequence> sequence) {
    list.insert(std::upper_bound(list.begin(), list.end(), sequence, goes_before), std::move(sequence));
}

void Scheduler::add(std::unique_ptr<Sequence> sequence) {
    insert(waiting_, std::move(sequence));
}

Sequence* Scheduler::find(RequestId id) {
    for (const List* list : {&waiting_, &running_}) {
        for (const std::unique_ptr<Sequence>& sequence : *list) {
            if (sequence->id() == id) return sequence.get();
        }
    }
    return nullptr;
}

Sequence* Scheduler::any() const {
    if (!running_.empty()) return running_.front().get();
    return waiting_.empty() ? nullptr : waiting_.front().get();
}

void Scheduler::admit() {
    lacks_memory_ = false;
    for (size_t i = 0; i < waiting_.size();) {
        Sequence& sequence = *waiting_[i];
        if (waits_for_reader(sequence) || (disk_ != nullptr && disk_->fetches(sequence.prefix()))) {
            ++i;
            continue;
        }
        while (!try_start(sequence)) {
            if (!preempt_below(sequence.request().priority)) return;  // nobody overtakes it
        }
        auto started = std::move(waiting_[i]);
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
        insert(running_, std::move(started));
    }
}

bool Scheduler::try_start(Sequence& sequence) {
    if (running_.size() == parallel_) return false;
    std::unique_ptr<Lease> lease = cache_.admit(sequence.prefix(), sequence.worst_length());
    lacks_memory_ = !lease;
    if (!lease) return false;
    sequence.start(std::move(lease));
    plan_snapshots(sequence);
    return true;
}

// Whether a running sequence is reading what this one begins with, and more of it than the cache has: then it is read
// once, and this one goes on from a snapshot where the two part.
bool Scheduler::waits_for_reader(Sequence& sequence) {
    const int64_t last = static_cast<int64_t>(sequence.tokens().size()) - 1;
    int64_t cached = -1;
    for (const std::unique_ptr<Sequence>& reader : running_) {
        if (reader->pending() <= 1 || reader->request().cache_scope != sequence.request().cache_scope) continue;
        const int64_t common = std::min(common_length(reader->tokens(), sequence.tokens()), last);
        if (common <= reader->fed()) continue;
        if (cached < 0) cached = cache_.look_up(sequence.prefix()).cached_len;
        if (common - cached < kSharedLeast) continue;
        reader->want_snapshot(common);
        if (!sequence.has_waited()) ++counters_.shared_reads;
        sequence.set_waited();
        return true;
    }
    return false;
}

// Sends the running sequence of the lowest priority, the last to come among equals, back to wait.
bool Scheduler::preempt_below(int priority) {
    if (running_.empty() || running_.back()->request().priority >= priority) return false;
    auto sequence = std::move(running_.back());
    running_.pop_back();
    end_lease(*sequence, true);
    ++sequence->result().preemptions;
    ++counters_.preemptions;
    insert(waiting_, std::move(sequence));
    return true;
}

void Scheduler::plan_snapshots(Sequence& sequence) const {
    const Lease& lease = sequence.lease();
    const int64_t last = static_cast<int64_t>(sequence.tokens().size()) - 1;
    // Where a sequence we know took another way, a third one may.
    const int64_t matched = std::min(lease.matched_len(), last);
    if (matched >= lease.cached_len() + kBranchLeast) sequence.want_snapshot(matched);
    const int64_t first = (lease.cached_len() / snapshot_spacing_ + 1) * snapshot_spacing_;
    for (int64_t position = first; position < last; position += snapshot_spacing_) sequence.want_snapshot(position);
    // What ends a long text is often a question or a date, and another one the next time.
    const int64_t before_end = (sequence.prompt_len() - kEndMost) / kPage * kPage;
    if (before_end >= sequence.snapshot_below(before_end) + kLeastSpacing) sequence.want_snapshot(before_end);
    const std::vector<int64_t>& points = sequence.request().branch_points;
    if (points.empty() || points.back() < sequence.prompt_len() - kEndMost) {
        sequence.want_snapshot(sequence.prompt_len() - 1);
    }
}

std::span<const Scheduler::Turn> Scheduler::plan() {
    turns_.clear();
    int64_t left = max_rows_;
    for (const std::unique_ptr<Sequence>& sequence : running_) {
        if (!sequence->decoding() || left == 0) continue;
        turns_.push_back({sequence.get(), 1});
        --left;  // drafts have rows of their own
    }
    const auto decode_rows = static_cast<int64_t>(turns_.size());
    if (decode_rows > 0 && decode_rows < static_cast<int64_t>(running_.size())) {
        left = std::min(left, pace_.prefill_rows(decode_rows, left));
    }
    for (const std::unique_ptr<Sequence>& sequence : running_) {
        if (sequence->decoding() || left == 0) continue;
        const int64_t rows = std::min(left, sequence->pending());
        turns_.push_back({sequence.get(), rows});
        left -= rows;
    }
    return turns_;
}

void Scheduler::end_lease(Sequence& sequence, bool keep) {
    const std::span<const int32_t> fed = sequence.fed_tokens();
    std::unique_ptr<Lease> lease = sequence.stop();
    if (keep) {
        cache_.finish(std::move(lease), fed);
    } else {
        cache_.drop(std::move(lease));
    }
}

std::unique_ptr<Sequence> Scheduler::remove(Sequence& sequence, bool keep) {
    if (sequence.running()) end_lease(sequence, keep);
    for (List* list : {&waiting_, &running_}) {
        const auto at = std::find_if(list->begin(), list->end(),
                                     [&](const std::unique_ptr<Sequence>& one) { return one.get() == &sequence; });
        if (at == list->end()) continue;
        std::unique_ptr<Sequence> removed = std::move(*at);
        list->erase(at);
        return removed;
    }
    check_failed(__FILE__, __LINE__, "the sequence is listed");
}

}  // namespace colugo
