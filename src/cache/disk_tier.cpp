#include "cache/disk_tier.h"

#include <fmt/format.h>

#include <algorithm>

namespace colugo {

namespace {

// Tokens that are worth a read.
constexpr int64_t kFetchLeast = 64;
// Beside other work, snapshots are written once 1 / kWriteShare of the budget is used: the rest is to last until those
// that go next are on disk.
constexpr uint64_t kWriteShare = 2;

// The end of a conversation and what its last reply began with, where conversations part, and where one was begun. The
// rest are stations on the way of a single conversation.
bool is_worth_writing(const PrefixTree::Node& node) {
    return node.children.size() != 1 || node.uses > 0 || node.children.front()->children.empty();
}

}  // namespace

DiskTier::DiskTier(CacheManager& cache, DiskStore::Options options)
    : cache_(cache), on_done_(std::move(options.on_done)), log_(options.log), store_(filled(std::move(options))) {}

DiskTier::~DiskTier() {
    finish_job(Clock::now());
}

DiskStore::Options DiskTier::filled(DiskStore::Options options) {
    const StateFormat& format = cache_.format();
    options.sizes = {
        .page = format.page_bytes, .border = format.border_bytes, .rows = format.rows_bytes, .tail = format.tail_bytes};
    options.on_done = [this] {
        {
            const std::lock_guard lock(mutex_);
            is_done_ = true;
        }
        done_.notify_one();
        if (on_done_) on_done_();
    };
    return options;
}

void DiskTier::take_in(DiskStore::Done done) {
    Snapshot* snapshot = std::exchange(at_work_, nullptr);
    if (!done.ok) ++counters_.failed;
    if (done.kind == DiskStore::Done::Kind::read && done.ok) {
        ++counters_.reads;
        counters_.read_tokens += snapshot->position - cached_before_;
        if (PrefixTree::Node* node = cache_.adopt(snapshot, done.prefix)) node->stored = true;
        return;
    }
    if (done.kind == DiskStore::Done::Kind::write) {
        if (done.ok) ++counters_.writes;
        // What the disk refused once it is not asked again: an idle engine would ask for ever.
        if (PrefixTree::Node* node = cache_.find(done.prefix)) node->stored = true;
    }
    cache_.release(snapshot);
}

void DiskTier::tend() {
    if (std::optional<DiskStore::Done> done = store_.poll()) take_in(std::move(*done));
}

void DiskTier::write_behind(bool idle) {
    if (store_.busy() || (!idle && cache_.budget().used() < cache_.budget().limit() / kWriteShare)) return;
    if (all_written_ == cache_.counters().snapshots_taken) return;
    if (PrefixTree::Node* node = next_to_write()) {
        write(*node);
    } else {
        all_written_ = cache_.counters().snapshots_taken;
    }
}

// The one that would be evicted first of those that are not on disk.
PrefixTree::Node* DiskTier::next_to_write() const {
    PrefixTree::Node* next = nullptr;
    double least = 0.0;
    for (PrefixTree::Node* node : cache_.tree().snapshots()) {
        if (node->stored || !is_worth_writing(*node)) continue;
        const double priority = cache_.priority(*node);
        if (next != nullptr && priority >= least) continue;
        next = node;
        least = priority;
    }
    return next;
}

// False where there is no memory for it now.
bool DiskTier::write(PrefixTree::Node& node) {
    const OwnedPrefix prefix = PrefixTree::prefix_of(node);
    if (store_.contains(prefix)) {
        node.stored = true;
        return true;
    }
    at_work_ = cache_.hold(node);
    if (at_work_ == nullptr) return false;
    StatePieces pieces{
        .pages = {}, .border = at_work_->border.data(), .rows = at_work_->rows.data(), .tail = at_work_->tail.data()};
    for (const SlotRef& page : at_work_->pages) pieces.pages.push_back(page.data());
    store_.start_write(prefix, std::move(pieces));
    return true;
}

int64_t DiskTier::would_fetch(const Prefix& prefix) const {
    const int64_t stored = store_.deepest(prefix, prefix.length() - 1);
    return stored - cache_.look_up(prefix).cached_len >= kFetchLeast ? stored : 0;
}

bool DiskTier::fetches(const Prefix& prefix) {
    const int64_t stored = would_fetch(prefix);
    if (stored == 0) return false;
    if (store_.busy()) return true;
    const int64_t cached = cache_.look_up(prefix).cached_len;
    size_t shared = 0;
    at_work_ = cache_.hold_new(prefix.first(stored), shared);
    if (at_work_ == nullptr) return false;
    StatePieces pieces{.pages = std::vector<std::byte*>(shared),
                       .border = at_work_->border.data(),
                       .rows = at_work_->rows.data(),
                       .tail = at_work_->tail.data()};
    for (size_t page = shared; page < at_work_->pages.size(); ++page) {
        pieces.pages.push_back(at_work_->pages[page].data());
    }
    cached_before_ = cached;
    store_.start_read(prefix.first(stored), std::move(pieces));
    return true;
}

// The one at work; when the time has come, it is given up.
void DiskTier::finish_job(Clock::time_point end) {
    while (at_work_ != nullptr) {
        {
            std::unique_lock lock(mutex_);
            const auto is_done = [this] { return is_done_; };
            if (!done_.wait_until(lock, end, is_done)) {
                store_.give_up();
                done_.wait(lock, is_done);
            }
            is_done_ = false;
        }
        tend();
    }
}

void DiskTier::flush(double seconds) {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    finish_job(end);
    std::vector<std::pair<double, PrefixTree::Node*>> order;
    for (PrefixTree::Node* node : cache_.tree().snapshots()) {
        if (!node->stored && is_worth_writing(*node)) order.emplace_back(-cache_.priority(*node), node);
    }
    std::sort(order.begin(), order.end());
    // Writing takes nothing out of the tree, so the nodes stay.
    for (size_t i = 0; i < order.size(); ++i) {
        if (Clock::now() >= end) {
            return log_(
                fmt::format("{} snapshots were not kept on disk: writing them took too long", order.size() - i));
        }
        if (write(*order[i].second)) finish_job(end);
    }
}

}  // namespace colugo
