#include "cache/cache_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace colugo {

using kernels::kPage;

namespace {

// Bytes more than were asked for that an eviction frees, as a share of the budget: the next grants find them at hand.
constexpr uint64_t kSlackShare = 64;

int64_t pages_for(int64_t length) {
    return (length + kPage - 1) / kPage;
}

template <typename Visit>
void visit_slots(const Snapshot& snapshot, Visit visit) {
    for (const SlotRef& page : snapshot.pages) visit(page);
    for (const SlotRef* ref : {&snapshot.border, &snapshot.rows, &snapshot.tail}) visit(*ref);
}

// Slots, each counted once.
class SlotSet {
 public:
    void add(const SlotRef& ref) {
        if (!ref) return;
        std::vector<bool>& members = of(ref.pool());
        const auto slot = static_cast<size_t>(ref.slot());
        if (members[slot]) return;
        members[slot] = true;
        bytes_ += ref.pool()->slot_cost();
    }
    uint64_t bytes() const { return bytes_; }

 private:
    std::vector<bool>& of(const SlotPool* pool) {
        for (auto& [known, members] : pools_) {
            if (known == pool) return members;
        }
        return pools_.emplace_back(pool, std::vector<bool>(pool->references().size())).second;
    }
    std::vector<std::pair<const SlotPool*, std::vector<bool>>> pools_;
    uint64_t bytes_ = 0;
};

}  // namespace

uint64_t StateFormat::sequence_bytes(int64_t length) const {
    // Of borders and rows the one in use and the next one.
    return static_cast<uint64_t>(pages_for(length)) * SlotPool::cost_of(page_bytes) +
           2 * SlotPool::cost_of(border_bytes) + 2 * SlotPool::cost_of(rows_bytes) + SlotPool::cost_of(tail_bytes);
}

uint64_t StateFormat::snapshot_bytes() const {
    return SlotPool::cost_of(border_bytes) + SlotPool::cost_of(rows_bytes) + SlotPool::cost_of(tail_bytes);
}

uint64_t StateFormat::fixed_bytes() const {
    return SlotPool::cost_of(border_bytes);
}

StateFormat state_format(const Qwen35& model) {
    const RecurrentLayout& recurrent = model.recurrent_layout();
    return {.page_bytes = static_cast<size_t>(model.page_layout().page_bytes),
            .border_bytes = recurrent.border_bytes(),
            .rows_bytes = recurrent.rows_bytes(),
            .tail_bytes = recurrent.tail_bytes(),
            .copy_page = [&model](std::byte* to, const std::byte* from, int columns) {
                model.copy_page(to, from, columns);
            }};
}

template <typename Visit>
void Lease::visit_slots(Visit visit) const {
    for (const SlotRef& page : pages_) visit(page);
    for (const SlotRef* ref : {&border_, &rows_, &tail_}) visit(*ref);
    for (const SlotRef& ref : pass_borders_) visit(ref);
    for (const SlotRef& ref : pass_rows_) visit(ref);
    for (const Taking& taking : takings_) {
        for (const SlotRef* ref : {&taking.border, &taking.rows, &taking.tail}) visit(*ref);
    }
}

CacheManager::CacheManager(StateFormat format, uint64_t budget_bytes, int64_t longest)
    : format_(std::move(format)),
      budget_(budget_bytes),
      pages_(budget_, format_.page_bytes),
      borders_(budget_, format_.border_bytes),
      rows_(budget_, format_.rows_bytes),
      tails_(budget_, format_.tail_bytes) {
    const uint64_t least = format_.fixed_bytes() + format_.sequence_bytes(longest);
    if (least > budget_bytes) {
        fail(ErrorCode::resource_exhausted,
             "a cache of {} bytes does not hold one sequence of {} tokens, which takes {} bytes", budget_bytes, longest,
             least);
    }
    zero_border_ = borders_.grant();
    std::memset(zero_border_.data(), 0, format_.border_bytes);
}

CacheManager::~CacheManager() {
    COLUGO_CHECK(leases_.empty() && held_.empty());
}

CacheManager::Lookup CacheManager::look_up(const Prefix& prefix) const {
    const PrefixTree::Match match = tree_.match(prefix, prefix.length() - 1);
    return {match.deepest != nullptr ? match.deepest->position : 0, match.length};
}

// What the leases, and `more`, hold.
uint64_t CacheManager::live_bytes(std::span<const SlotRef> more) const {
    SlotSet slots;
    slots.add(zero_border_);
    for (const Lease* lease : leases_) {
        // A lease's borders are all outstanding_bytes': one it shares may stay with another lease when it moves on.
        lease->visit_slots([&](const SlotRef& ref) {
            if (ref && ref.pool() != &borders_) slots.add(ref);
        });
        for (const Lease::Taking& taking : lease->takings_) slots.add(taking.border);
    }
    for (const auto& snapshot : held_) visit_slots(*snapshot, [&](const SlotRef& ref) { slots.add(ref); });
    for (const SlotRef& ref : more) slots.add(ref);
    return slots.bytes();
}

// What a lease may come to hold beside what live_bytes counts: two borders, the next rows, and pages up to its worst
// length.
uint64_t CacheManager::outstanding_bytes(const Lease& lease) const {
    const uint64_t pages = static_cast<uint64_t>(pages_for(lease.worst_length_)) - lease.pages_.size();
    const uint64_t rows = (lease.rows_ ? 1 : 2) - (lease.has_next_rows_ ? 1 : 0);
    return pages * pages_.slot_cost() + 2 * borders_.slot_cost() + rows * rows_.slot_cost() +
           (lease.tail_ ? 0 : 1) * tails_.slot_cost();
}

// What leases hold or may come to need, what is held, and `more`.
uint64_t CacheManager::claimed_bytes(std::span<const SlotRef> more) const {
    uint64_t claimed = live_bytes(more);
    for (const Lease* lease : leases_) claimed += outstanding_bytes(*lease);
    return claimed;
}

// What nobody has a claim to: the cache's own, taken or free.
uint64_t CacheManager::unclaimed_bytes() const {
    return budget_.limit() - std::min(budget_.limit(), claimed_bytes({}));
}

void CacheManager::point_state(Lease& lease) const {
    lease.state_.border = lease.border_.data();
    lease.state_.rows = lease.rows_.data();
    lease.state_.tail = lease.tail_.data();
}

std::unique_ptr<Lease> CacheManager::admit(const Prefix& prefix, int64_t worst_length) {
    COLUGO_CHECK(prefix.length() > 0);
    const PrefixTree::Match match = tree_.match(prefix, prefix.length() - 1);
    auto lease = std::make_unique<Lease>();
    lease->scope_ = prefix.scope;
    lease->worst_length_ = std::max(worst_length, prefix.length());
    lease->matched_len_ = match.length;
    lease->border_ = zero_border_;
    Snapshot start;
    if (match.deepest != nullptr) {
        start = *match.deepest->snapshot;  // holds its slots through the evictions below
        lease->border_ = start.border;
        lease->pages_.assign(start.pages.begin(), start.pages.begin() + start.position / kPage);
    }
    if (claimed_bytes(lease->pages_) + outstanding_bytes(*lease) > budget_.limit()) return nullptr;

    leases_.push_back(lease.get());
    ++counters_.queries;
    counters_.query_tokens += prefix.length();
    if (match.deepest != nullptr) {
        ++counters_.hits;
        counters_.hit_tokens += start.position;
        match.deepest->last_use = clock_;
        ++match.deepest->uses;
    }
    begin_at(*lease, start);
    return lease;
}

// Its own copies of what the sequence will add to; a snapshot at 0 is the beginning.
void CacheManager::begin_at(Lease& lease, const Snapshot& snapshot) {
    lease.state_.length = lease.cached_len_ = snapshot.position;
    lease.rows_ = grant(rows_);
    lease.tail_ = grant(tails_);
    if (const auto columns = static_cast<int>(snapshot.position % kPage); columns > 0) {
        SlotRef page = grant(pages_);
        std::memset(page.data(), 0, format_.page_bytes);
        format_.copy_page(page.data(), snapshot.pages.back().data(), columns);
        lease.pages_.push_back(std::move(page));
        std::memcpy(lease.rows_.data(), snapshot.rows.data(), format_.rows_bytes);
    }
    if (snapshot.position > 0) {
        std::memcpy(lease.tail_.data(), snapshot.tail.data(), format_.tail_bytes);
    } else {
        std::memset(lease.tail_.data(), 0, format_.tail_bytes);
    }
    for (const SlotRef& page : lease.pages_) lease.state_.pages.push_back(page.data());
    lease.state_.pages.reserve(static_cast<size_t>(pages_for(lease.worst_length_)));
    lease.pages_.reserve(static_cast<size_t>(pages_for(lease.worst_length_)));
    point_state(lease);
}

// Of what the leases have a claim to.
SlotRef CacheManager::grant(SlotPool& pool) {
    SlotRef ref = pool.grant();
    if (!ref) {
        evict(pool.slot_cost());
        ref = pool.grant();
    }
    COLUGO_CHECK(ref);
    return ref;
}

// GreedyDual-Size-Frequency: tokens it spares for the bytes that would be free without it, from when it was last used.
// What it shares with the snapshot above stays.
double CacheManager::priority(const PrefixTree::Node& node) const {
    const Snapshot& snapshot = *node.snapshot;
    const PrefixTree::Node* above = PrefixTree::snapshot_above(node);
    const int64_t above_position = above != nullptr ? above->position : 0;
    uint64_t bytes = sizeof(PrefixTree::Node);
    for (auto page = static_cast<size_t>(above_position / kPage); page < snapshot.pages.size(); ++page) {
        if (snapshot.pages[page].unique()) bytes += pages_.slot_cost();
    }
    if (snapshot.border.unique()) bytes += borders_.slot_cost();
    if (snapshot.rows.unique()) bytes += rows_.slot_cost();
    if (snapshot.tail.unique()) bytes += tails_.slot_cost();
    const auto spared = static_cast<double>(node.position - above_position);
    return node.last_use + static_cast<double>(1 + node.uses) * spared / static_cast<double>(bytes);
}

// Plans first, then takes the snapshots of the lowest priority away, until `bytes` are free and some more.
void CacheManager::evict(uint64_t bytes) {
    const uint64_t goal = std::min(budget_.limit(), bytes + budget_.limit() / kSlackShare);
    while (budget_.available() < bytes) {
        candidates_.clear();
        for (PrefixTree::Node* node : tree_.snapshots()) candidates_.emplace_back(priority(*node), node);
        if (candidates_.empty()) return;
        std::sort(candidates_.begin(), candidates_.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [priority, node] : candidates_) {
            if (budget_.available() >= goal) break;
            clock_ = std::max(clock_, priority);
            tree_.detach(*node);
            charge_tree();
            ++counters_.evictions;
        }
    }
}

void CacheManager::charge_tree() {
    const uint64_t now = tree_.bytes();
    if (now > tree_bytes_) COLUGO_CHECK(budget_.take(now - tree_bytes_));
    if (now < tree_bytes_) budget_.give_back(tree_bytes_ - now);
    tree_bytes_ = now;
}

void CacheManager::prepare(Lease& lease, int64_t count, std::span<const int64_t> snapshots_at, int64_t draft_depth) {
    const int64_t begin = lease.length(), end = begin + count, last = end + draft_depth;
    COLUGO_CHECK(count > 0 && last <= lease.worst_length_ && lease.pass_pages_.empty());
    lease.pass_begin_ = begin;
    plan_takings(lease, end, snapshots_at);
    while (static_cast<int64_t>(lease.pages_.size()) < pages_for(last)) {
        SlotRef page = grant(pages_);
        std::memset(page.data(), 0, format_.page_bytes);
        lease.state_.pages.push_back(page.data());
        lease.pages_.push_back(std::move(page));
    }
    // A slot that a snapshot holds, or will, is not written over; a page that was begun is added to where it lies.
    SlotRef border = lease.border_, rows = lease.rows_;
    bool border_shared = lease.border_.references() > 2, rows_shared = lease.rows_.references() > 2;
    // Each snapshot was given memory for rows of its own; what goes beyond is the lease's.
    size_t new_rows = 0;
    auto taking = lease.takings_.begin();
    for (int64_t page = begin / kPage; page < pages_for(last); ++page) {
        const int64_t page_end = (page + 1) * kPage;
        if (page * kPage >= begin && rows_shared) {
            rows = grant(rows_);
            rows_shared = false;
            ++new_rows;
        }
        for (; taking != lease.takings_.end() && taking->position < page_end; ++taking) {
            taking->border = border;
            taking->rows = rows;
            border_shared = rows_shared = true;
        }
        // What drafts would complete they may also leave as it was.
        if ((page_end <= end && border_shared) || (page_end > end && page_end <= last)) {
            border = grant(borders_);
            border_shared = false;
        }
        lease.pass_pages_.push_back({rows.data(), border.data()});
        lease.pass_borders_.push_back(border);
        lease.pass_rows_.push_back(rows);
        for (; taking != lease.takings_.end() && taking->position == page_end; ++taking) {
            taking->border = border;
            border_shared = true;
        }
    }
    COLUGO_CHECK(taking == lease.takings_.end());
    lease.has_next_rows_ = new_rows > lease.takings_.size();
}

// As many of the snapshots as memory that nobody has a claim to allows.
void CacheManager::plan_takings(Lease& lease, int64_t end, std::span<const int64_t> snapshots_at) {
    if (snapshots_at.empty()) return;
    uint64_t room = unclaimed_bytes();
    for (const int64_t position : snapshots_at) {
        COLUGO_CHECK(position > lease.length() && position <= end);
        const uint64_t cost = format_.snapshot_bytes() + PrefixTree::most_bytes(position, lease.scope_);
        if (room < cost) {
            ++counters_.snapshots_left_out;
            continue;
        }
        room -= cost;
        lease.takings_.push_back({position, {}, {}, grant(tails_)});
        lease.tail_copies_.push_back({static_cast<int>(position - lease.length()), lease.takings_.back().tail.data()});
    }
}

void CacheManager::commit(Lease& lease, std::span<const int32_t> tokens) {
    COLUGO_CHECK(static_cast<int64_t>(tokens.size()) == lease.length() && !lease.pass_pages_.empty());
    std::vector<Lease::Taking> takings = std::move(lease.takings_);
    lease.takings_.clear();
    const int64_t first_page = lease.pass_begin_ / kPage, complete = lease.length() / kPage - first_page;
    if (complete > 0) lease.border_ = lease.pass_borders_[static_cast<size_t>(complete - 1)];
    lease.rows_ = lease.pass_rows_[static_cast<size_t>((lease.length() - 1) / kPage - first_page)];
    lease.pass_pages_.clear();
    lease.pass_borders_.clear();
    lease.pass_rows_.clear();
    lease.tail_copies_.clear();
    lease.has_next_rows_ = false;
    COLUGO_CHECK(lease.state_.border == lease.border_.data() && lease.state_.rows == lease.rows_.data());
    for (Lease::Taking& taking : takings) {
        const auto pages = lease.pages_.begin();
        insert(lease.prefix(tokens).first(taking.position),
               {.position = taking.position,
                .pages = std::vector<SlotRef>(pages, pages + pages_for(taking.position)),
                .border = std::move(taking.border),
                .rows = std::move(taking.rows),
                .tail = std::move(taking.tail)});
    }
}

PrefixTree::Node* CacheManager::insert(const Prefix& prefix, Snapshot snapshot) {
    const uint64_t most = PrefixTree::most_bytes(snapshot.position, prefix.scope);
    if (budget_.available() < most) evict(most);
    if (budget_.available() < most) {
        ++counters_.snapshots_left_out;
        return nullptr;
    }
    PrefixTree::Node& node = tree_.insert(prefix);
    node.last_use = clock_;
    if (!node.snapshot) {
        tree_.attach(node, std::move(snapshot));
        ++counters_.snapshots_taken;
    }
    charge_tree();
    return &node;
}

Snapshot* CacheManager::hold(const PrefixTree::Node& node) {
    auto held = std::make_unique<Snapshot>(*node.snapshot);
    std::vector<SlotRef> refs = held->pages;
    for (const SlotRef* ref : {&held->border, &held->rows, &held->tail}) refs.push_back(*ref);
    const auto columns = static_cast<int>(node.position % kPage);
    const bool added_to = columns > 0 && std::any_of(leases_.begin(), leases_.end(), [&](const Lease* lease) {
                              const size_t last = held->pages.size() - 1;
                              return lease->rows_ == held->rows ||
                                     (last < lease->pages_.size() && lease->pages_[last] == held->pages[last]);
                          });
    const uint64_t copies = added_to ? pages_.slot_cost() + rows_.slot_cost() : 0;
    if (claimed_bytes(refs) + copies > budget_.limit()) return nullptr;
    held_.push_back(std::move(held));
    Snapshot& snapshot = *held_.back();
    if (added_to) {
        SlotRef page = grant(pages_), rows = grant(rows_);
        std::memset(page.data(), 0, format_.page_bytes);
        format_.copy_page(page.data(), snapshot.pages.back().data(), columns);
        std::memcpy(rows.data(), snapshot.rows.data(), format_.rows_bytes);
        snapshot.pages.back() = std::move(page);
        snapshot.rows = std::move(rows);
    }
    return &snapshot;
}

Snapshot* CacheManager::hold_new(const Prefix& prefix, size_t& shared) {
    const int64_t position = prefix.length();
    const PrefixTree::Match match = tree_.match(prefix, position);
    auto held = std::make_unique<Snapshot>();
    held->position = position;
    if (match.deepest != nullptr) {
        const Snapshot& above = *match.deepest->snapshot;
        held->pages.assign(above.pages.begin(), above.pages.begin() + above.position / kPage);
    }
    shared = held->pages.size();
    const uint64_t pages = static_cast<uint64_t>(pages_for(position)) - shared;
    if (claimed_bytes(held->pages) + pages * pages_.slot_cost() + format_.snapshot_bytes() > budget_.limit()) {
        return nullptr;
    }
    held_.push_back(std::move(held));
    Snapshot& snapshot = *held_.back();
    for (uint64_t page = 0; page < pages; ++page) {
        snapshot.pages.push_back(grant(pages_));
        std::memset(snapshot.pages.back().data(), 0, format_.page_bytes);
    }
    snapshot.border = grant(borders_);
    if (position % kPage != 0) snapshot.rows = grant(rows_);
    snapshot.tail = grant(tails_);
    return &snapshot;
}

void CacheManager::release(const Snapshot* snapshot) {
    COLUGO_CHECK(std::erase_if(held_, [&](const auto& held) { return held.get() == snapshot; }) == 1);
}

PrefixTree::Node* CacheManager::adopt(const Snapshot* snapshot, const Prefix& prefix) {
    Snapshot kept = *snapshot;
    release(snapshot);
    return insert(prefix, std::move(kept));
}

void CacheManager::drop(std::unique_ptr<Lease> lease) {
    COLUGO_CHECK(std::erase(leases_, lease.get()) == 1);
}

void CacheManager::finish(std::unique_ptr<Lease> lease, std::span<const int32_t> tokens) {
    COLUGO_CHECK(lease->pass_pages_.empty() && static_cast<int64_t>(tokens.size()) == lease->length());
    COLUGO_CHECK(std::erase(leases_, lease.get()) == 1);
    if (lease->length() == 0) return;
    Snapshot snapshot{.position = lease->length(),
                      .pages = std::move(lease->pages_),
                      .border = std::move(lease->border_),
                      .rows = {},
                      .tail = std::move(lease->tail_)};
    snapshot.pages.resize(static_cast<size_t>(pages_for(snapshot.position)));
    if (snapshot.position % kPage != 0) snapshot.rows = std::move(lease->rows_);
    insert(lease->prefix(tokens), std::move(snapshot));
}

std::string CacheManager::fault() const {
    if (std::string found = tree_.fault(); !found.empty()) return found;
    if (tree_bytes_ != tree_.bytes())
        return fmt::format("the tree takes {} bytes, {} are charged", tree_.bytes(), tree_bytes_);
    for (const PrefixTree::Node* node : tree_.snapshots()) {
        const Snapshot& snapshot = *node->snapshot;
        const bool shape = static_cast<int64_t>(snapshot.pages.size()) == pages_for(snapshot.position) &&
                           snapshot.border && snapshot.tail && bool(snapshot.rows) == (snapshot.position % kPage != 0);
        if (!shape) return fmt::format("the snapshot at {} lacks a part", snapshot.position);
    }
    if (std::string found = reference_fault(); !found.empty()) return found;
    if (std::string found = lease_fault(); !found.empty()) return found;
    uint64_t used = tree_bytes_;
    for (const SlotPool* pool : {&pages_, &borders_, &rows_, &tails_}) {
        used += static_cast<uint64_t>(pool->granted()) * pool->slot_cost();
    }
    if (used != budget_.used()) return fmt::format("{} bytes are used, the budget counts {}", used, budget_.used());
    if (budget_.used() + budget_.kept() > budget_.limit()) {
        return fmt::format("{} bytes used and {} kept exceed {}", used, budget_.kept(), budget_.limit());
    }
    return {};
}

// Every reference to a slot is a lease's or a snapshot's.
std::string CacheManager::reference_fault() const {
    for (const SlotPool* pool : {&pages_, &borders_, &rows_, &tails_}) {
        std::vector<int32_t> counts(pool->references().size());
        const auto count = [&](const SlotRef& ref) {
            if (ref && ref.pool() == pool) ++counts[static_cast<size_t>(ref.slot())];
        };
        count(zero_border_);
        for (const Lease* lease : leases_) lease->visit_slots(count);
        for (const auto& snapshot : held_) visit_slots(*snapshot, count);
        for (const PrefixTree::Node* node : tree_.snapshots()) visit_slots(*node->snapshot, count);
        for (size_t slot = 0; slot < counts.size(); ++slot) {
            if (counts[slot] == pool->references()[slot]) continue;
            return fmt::format("a slot of {} bytes has {} owners and counts {}", pool->slot_bytes(), counts[slot],
                               pool->references()[slot]);
        }
    }
    return {};
}

// Leases can get what they were promised, and only one of them adds to a page, to rows or to a tail.
std::string CacheManager::lease_fault() const {
    const uint64_t claimed = claimed_bytes({});
    if (claimed > budget_.limit())
        return fmt::format("leases have a claim to {} of {} bytes", claimed, budget_.limit());
    for (const Lease* lease : leases_) {
        for (const Lease* other : leases_) {
            if (other == lease) continue;
            if (lease->rows_ == other->rows_ || lease->tail_ == other->tail_) return "two leases share rows or a tail";
            for (size_t page = static_cast<size_t>(lease->length() / kPage); page < lease->pages_.size(); ++page) {
                if (page < other->pages_.size() && lease->pages_[page] == other->pages_[page]) {
                    return fmt::format("two leases share page {}, which one of {} tokens adds to", page,
                                       lease->length());
                }
            }
        }
    }
    return {};
}

}  // namespace colugo
