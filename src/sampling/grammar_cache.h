// Compiled grammars by what they were compiled from, so that a request like one before finds its grammar ready.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/function_ref.h"
#include "sampling/byte_grammar.h"

namespace colugo {

// For any thread.
class GrammarCache {
 public:
    // Drops those used longest ago beyond `max_bytes` of grammars; the last one used always stays.
    explicit GrammarCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

    // The grammar of this text, which says all that `compile` depends on; compiled where there is none, outside the
    // lock, so two threads may both do so. What compile throws is passed on and not kept.
    std::shared_ptr<const ByteGrammar> get(const std::string& text, FunctionRef<ByteGrammar()> compile);

    int64_t bytes() const;
    int64_t size() const;

 private:
    struct Entry {
        std::string text;
        std::shared_ptr<const ByteGrammar> grammar;
    };
    static int64_t bytes_of(const Entry& entry);
    std::shared_ptr<const ByteGrammar> find(const std::string& text);

    const int64_t max_bytes_;
    mutable std::mutex mutex_;
    int64_t bytes_ = 0;
    std::list<Entry> entries_;  // last used first
    std::unordered_map<std::string, std::list<Entry>::iterator> by_text_;
};

}  // namespace colugo
