#include "sampling/grammar_cache.h"

#include <utility>

namespace colugo {

int64_t GrammarCache::bytes_of(const Entry& entry) {
    return entry.grammar->bytes() + 2 * static_cast<int64_t>(entry.text.size());
}

std::shared_ptr<const ByteGrammar> GrammarCache::find(const std::string& text) {
    const auto found = by_text_.find(text);
    if (found == by_text_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front().grammar;
}

std::shared_ptr<const ByteGrammar> GrammarCache::get(const std::string& text, FunctionRef<ByteGrammar()> compile) {
    {
        const std::lock_guard lock(mutex_);
        if (auto grammar = find(text)) return grammar;
    }
    auto compiled = std::make_shared<const ByteGrammar>(compile());
    const std::lock_guard lock(mutex_);
    if (auto grammar = find(text)) return grammar;
    entries_.push_front({text, compiled});
    by_text_.emplace(text, entries_.begin());
    bytes_ += bytes_of(entries_.front());
    for (; bytes_ > max_bytes_ && entries_.size() > 1; entries_.pop_back()) {
        bytes_ -= bytes_of(entries_.back());
        by_text_.erase(entries_.back().text);
    }
    return compiled;
}

int64_t GrammarCache::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

int64_t GrammarCache::size() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(entries_.size());
}

}  // namespace colugo
