#include "text/encoding_memo.h"

namespace colugo {

bool EncodingMemo::append(std::string_view scope, std::string_view text, std::vector<int32_t>& ids) {
    if (text.size() < kLeastBytes) return false;
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find({scope, text});
    if (found == by_key_.end()) return false;
    entries_.splice(entries_.begin(), entries_, found->second);
    ids.insert(ids.end(), found->second->ids.begin(), found->second->ids.end());
    ++found_;
    return true;
}

void EncodingMemo::keep(std::string_view scope, std::string_view text, std::span<const int32_t> ids) {
    if (text.size() < kLeastBytes) return;
    Entry entry{std::string(scope), std::string(text), {ids.begin(), ids.end()}};
    if (entry.bytes() > max_bytes_ / 4) return;
    const std::lock_guard lock(mutex_);
    if (by_key_.contains(entry.key())) return;  // another thread was faster
    bytes_ += entry.bytes();
    entries_.push_front(std::move(entry));
    by_key_.emplace(entries_.front().key(), entries_.begin());
    while (bytes_ > max_bytes_) {
        bytes_ -= entries_.back().bytes();
        by_key_.erase(entries_.back().key());
        entries_.pop_back();
    }
}

size_t EncodingMemo::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

uint64_t EncodingMemo::found() const {
    const std::lock_guard lock(mutex_);
    return found_;
}

}  // namespace colugo
