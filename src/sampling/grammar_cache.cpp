#include "sampling/grammar_cache.h"

#include <utility>

namespace colugo {

GrammarCache::GrammarCache(std::shared_ptr<const GrammarVocabulary> vocabulary, std::vector<int32_t> end_ids,
                           int64_t max_bytes)
    : vocabulary_(std::move(vocabulary)),
      end_ids_(std::move(end_ids)),
      masks_(std::make_shared<MaskCache>(vocabulary_->size())),
      max_bytes_(max_bytes) {}

std::shared_ptr<TokenGrammar> GrammarCache::make(std::shared_ptr<const ByteGrammar> compiled) const {
    return std::make_shared<TokenGrammar>(std::move(compiled), vocabulary_, end_ids_, masks_);
}

std::shared_ptr<TokenGrammar> GrammarCache::find(const std::string& text) {
    const auto found = by_text_.find(text);
    if (found == by_text_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    Entry& entry = entries_.front();
    if (entry.grammar->is_full()) entry.grammar = make(entry.compiled);
    return entry.grammar;
}

std::shared_ptr<TokenGrammar> GrammarCache::get(const std::string& text, FunctionRef<ByteGrammar()> compile) {
    {
        const std::lock_guard lock(mutex_);
        if (auto grammar = find(text)) return grammar;
    }
    const auto compiled = std::make_shared<const ByteGrammar>(compile());
    auto made = make(compiled);
    const std::lock_guard lock(mutex_);
    if (auto grammar = find(text)) return grammar;
    const int64_t bytes = compiled->bytes() + made->bytes() + 2 * static_cast<int64_t>(text.size());
    entries_.push_front({text, compiled, made, bytes});
    by_text_.emplace(text, entries_.begin());
    bytes_ += bytes;
    for (; bytes_ > max_bytes_ && entries_.size() > 1; entries_.pop_back()) {
        bytes_ -= entries_.back().bytes;
        by_text_.erase(entries_.back().text);
    }
    return made;
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
