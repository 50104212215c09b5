// Compiled grammars by what they were compiled from, so that a request like one before finds its grammar ready, and the
// states and masks that its text came to.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/function_ref.h"
#include "sampling/token_grammar.h"

namespace colugo {

// For any thread.
class GrammarCache {
 public:
    // Drops those used longest ago beyond `max_bytes` of grammars; the last one used always stays. end_ids: those of
    // TokenGrammar.
    GrammarCache(std::shared_ptr<const GrammarVocabulary> vocabulary, std::vector<int32_t> end_ids, int64_t max_bytes);

    // The grammar of this text, which says all that `compile` depends on; compiled where there is none, outside the
    // lock, so two threads may both do so. What compile throws is passed on and not kept. Others may be given the same
    // one, so one thread has to ask for all that these grammars know.
    std::shared_ptr<TokenGrammar> get(const std::string& text, FunctionRef<ByteGrammar()> compile);

    int64_t bytes() const;
    int64_t size() const;

 private:
    struct Entry {
        std::string text;
        std::shared_ptr<const ByteGrammar> compiled;
        std::shared_ptr<TokenGrammar> grammar;
        int64_t bytes;  // as long as it is not full
    };
    std::shared_ptr<TokenGrammar> make(std::shared_ptr<const ByteGrammar> compiled) const;
    std::shared_ptr<TokenGrammar> find(const std::string& text);

    const std::shared_ptr<const GrammarVocabulary> vocabulary_;
    const std::vector<int32_t> end_ids_;
    const std::shared_ptr<MaskCache> masks_;
    const int64_t max_bytes_;
    mutable std::mutex mutex_;
    int64_t bytes_ = 0;
    std::list<Entry> entries_;  // last used first
    std::unordered_map<std::string, std::list<Entry>::iterator> by_text_;
};

}  // namespace colugo
